# A module with a provider. The probe makes real files, so what a run did can be looked at.

terraform {
  required_providers {
    probe = {
      source  = "example.test/captf/probe"
      version = "~> 0.1"
    }
  }
}

variable "dir" {
  type        = string
  description = "a folder that is there and can be written"
}

variable "content" {
  type    = string
  default = "hello"
}

variable "delay" {
  type        = string
  description = "how long each file takes, such as 10s"
  default     = "0s"
}

resource "probe_file" "first" {
  path    = "${var.dir}/first"
  content = var.content
  delay   = var.delay
}

resource "probe_file" "second" {
  path    = "${var.dir}/second"
  content = probe_file.first.content
  delay   = var.delay
}

output "files" {
  value = [probe_file.first.path, probe_file.second.path]
}
