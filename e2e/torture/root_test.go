package torture

// oneResource is what the state of a cell begins with.
const oneResource = `
terraform {
  required_providers {
    probe = { source = "example.test/captf/probe" }
  }
}
variable "files" { type = string }
resource "probe_file" "first" {
  path    = "${var.files}/first"
  content = "one"
}
`

// twoMore are made one after the other.
const twoMore = `
resource "probe_file" "second" {
  path    = "${var.files}/second"
  content = probe_file.first.content
}
resource "probe_file" "third" {
  path    = "${var.files}/third"
  content = probe_file.second.content
}
`

// twoOther are twoMore, the one changed in place, and the other one replaced after that.
const twoOther = `
resource "probe_file" "second" {
  path    = "${var.files}/second"
  content = "two"
}
resource "probe_file" "third" {
  path    = "${var.files}/third-b"
  content = probe_file.second.content
}
`

// lateOutput changes the state of any run.
const lateOutput = `output "late" { value = "one" }
`
