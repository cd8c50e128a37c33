#!/bin/sh
# Makes the plans of this folder with real runtimes: generate.sh TOFU TERRAFORM
# Only the built-in provider is used, so nothing is downloaded.
set -eu

out=$(cd "$(dirname "$0")" && pwd)
tofu=$1
terraform=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf 'disable_checkpoint = true\n' >"$work/cli.tfrc"
export TF_CLI_CONFIG_FILE="$work/cli.tfrc" CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1 TF_INPUT=0

# plan NAME ARGS... writes the plan of the current directory to NAME.json.
plan() {
	name=$1
	shift
	"$bin" plan -no-color -input=false -out=p "$@" >/dev/null
	"$bin" show -json -no-color p >"$out/$runtime-$name.json"
}

apply() {
	"$bin" apply -no-color -input=false -auto-approve >/dev/null
}

before() {
	cat <<-'HCL'
		variable "password" {
		  type      = string
		  sensitive = true
		  default   = "s3cr3t-password"
		}
		variable "pin" {
		  type      = number
		  sensitive = true
		  default   = 31415926535897932384
		}
		variable "plain" {
		  type    = string
		  default = "not-secret"
		}
		locals {
		  ratio = 0.1
		}
		resource "terraform_data" "updated" {
		  input = { size = 1, ratio = local.ratio, name = var.plain, tags = ["a", "b"] }
		}
		resource "terraform_data" "replaced" {
		  triggers_replace = [1]
		}
		resource "terraform_data" "renewed" {
		  triggers_replace = ["x"]
		  lifecycle {
		    create_before_destroy = true
		  }
		}
		resource "terraform_data" "old" {
		  input = "moves"
		}
		resource "terraform_data" "gone" {
		  input = var.password
		}
		resource "terraform_data" "kept" {
		  for_each = toset(["a", "b\"]\n", "c"])
		  input    = each.key
		}
		resource "terraform_data" "secret" {
		  input = { password = var.password, list = ["open", var.pin], text = "user:${var.password}@host" }
		}
		resource "terraform_data" "commands" {
		  provisioner "local-exec" {
		    command     = "true"
		    environment = { N = 1 }
		  }
		}
		output "size" {
		  value = terraform_data.updated.output.size
		}
		output "password" {
		  value     = var.password
		  sensitive = true
		}
		output "same" {
		  value = "same"
		}
	HCL
}

after() {
	before | sed -e 's/size = 1,/size = 2,/' -e 's/= \[1\]/= [2]/' -e 's/\["x"\]/["y"]/' \
		-e 's/"terraform_data" "old"/"terraform_data" "new"/' -e '/resource "terraform_data" "gone"/,/^}/d' \
		-e 's/s3cr3t-password/n3w-s3cr3t/'
	cat <<-'HCL'
		moved {
		  from = terraform_data.old
		  to   = terraform_data.new
		}
		resource "terraform_data" "adopted" {
		}
		import {
		  to = terraform_data.adopted
		  id = "7d7c3a5e-0000-4000-8000-000000000001"
		}
		module "child" {
		  source = "./child"
		}
	HCL
}

child() {
	mkdir -p child
	cat >child/main.tf <<-'HCL'
		resource "terraform_data" "worker" {
		  count = 2
		  input = count.index
		  provisioner "local-exec" {
		    command = "echo worker"
		  }
		}
	HCL
}

for runtime in tofu terraform; do
	eval "bin=\$$runtime"
	mkdir "$work/$runtime"
	cd "$work/$runtime"
	child
	before >main.tf
	"$bin" init -no-color -input=false >/dev/null
	plan create
	# Both plan from one state, which OpenTofu made: IDs are random.
	if [ "$runtime" = tofu ]; then
		apply
	else
		cp "$work/tofu/terraform.tfstate" .
	fi
	plan nothing
	plan destroy -destroy
	after >main.tf
	"$bin" init -no-color -input=false >/dev/null
	plan mixed
	plan drift -refresh=false
done

# What only OpenTofu has.
runtime=tofu
bin=$tofu
mkdir "$work/forget"
cd "$work/forget"
cat >main.tf <<-'HCL'
	resource "terraform_data" "forgotten" {}
	resource "terraform_data" "abandoned" {
	  triggers_replace = 1
	  lifecycle {
	    destroy = false
	  }
	}
	resource "terraform_data" "source" {
	  input = "terraform.tfstate"
	}
	data "terraform_remote_state" "s" {
	  backend = "local"
	  config  = { path = terraform_data.source.output }
	}
HCL
"$bin" init -no-color -input=false >/dev/null
"$bin" apply -no-color -input=false -auto-approve -target=terraform_data.forgotten -target=terraform_data.abandoned >/dev/null
sed -i -e '/"forgotten"/d' -e 's/triggers_replace = 1/triggers_replace = 2/' main.tf
cat >>main.tf <<-'HCL'
	removed {
	  from = terraform_data.forgotten
	  lifecycle {
	    destroy = false
	  }
	}
HCL
plan forget
