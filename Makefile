# make help lists the targets. Each one sets up what it needs: the only things that have to be there are
# Go, make, git and, for the race detector of make test, a C compiler.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

export CGO_ENABLED ?= 0
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# -s -w: no symbol table and no DWARF, a third of the size. -trimpath and an empty build ID: the same
# sources give the same bytes anywhere. Without cgo, whatever the environment says, they are static.
LDFLAGS := -s -w -buildid= -X main.version=$(VERSION) -X main.commit=$(COMMIT)
GOBUILD := CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)'
BINARIES := captf-runner captf statesrv
# The folder that the commands are built into.
BIN ?= bin

.PHONY: help build test race torture lint bench demo tools image e2e clean $(BINARIES)

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

build: $(BINARIES) ## build the commands into bin/

$(BINARIES):
	$(GOBUILD) -o $(BIN)/$@ ./cmd/$@

tools: ## build the pinned test tools (about 20 minutes once, then cached)
	scripts/tools/build.sh probe tofu terraform k8s versitygw image

test: lint tools ## lint, then run all tests, with the race detector, on real tofu, terraform, etcd, kube-apiserver and an S3 gateway, and in a real cluster (as root)
	scripts/test.sh
	scripts/e2e.sh

torture: tools ## kill, stop and starve runs at every moment, and look for what was lost (an hour or more, as root)
	scripts/torture.sh

lint: ## gofmt, go vet and staticcheck
	scripts/lint.sh

bench: tools ## measure the runner against what it replaces
	scripts/bench.sh

demo: captf-runner statesrv ## apply, apply again, drift, destroy and the history, on this machine
	scripts/demo.sh

image: ## write the runner's image for amd64 and arm64 to dist/captf-runner.oci.tar
	scripts/tools/build.sh image
	scripts/images.sh runner dist/captf-runner.oci.tar

e2e: tools ## run the tests that need real pods, in a cluster that is brought up for them (as root); CAPTF_TORTURE=1 for all of them
	scripts/e2e.sh

clean: ## remove what was built here (not the cached tools)
	rm -rf bin dist .tools
