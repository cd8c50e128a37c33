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

variable "greeting" {
  type    = string
  default = "hello"
}

resource "probe_file" "greeting" {
  path    = "${var.dir}/greeting.txt"
  content = var.greeting
}

output "file" {
  value = probe_file.greeting.path
}
