# A root module with something that really exists outside of the state: two files.

terraform {
  required_providers {
    probe = { source = "example.test/captf/probe" }
  }
}

variable "dir" {
  type = string
}

resource "probe_file" "greeting" {
  path    = "${var.dir}/greeting.txt"
  content = "hello"
}

resource "probe_file" "copy" {
  path    = "${var.dir}/copy.txt"
  content = "${probe_file.greeting.content}, again"
}

output "files" {
  value = [probe_file.greeting.path, probe_file.copy.path]
}
