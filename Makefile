# `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c

# Where `make run` serves, and more flags for `go test`.
ADDRESS   ?= 127.0.0.1:10072
TESTFLAGS ?=
FUZZTIME  ?= 10s
BENCH     ?= .

# What --version prints. The date is the commit's, so that one commit always builds the same binary.
VERSION  ?= $(or $(patsubst v%,%,$(shell git describe --tags --match 'v*' --dirty 2>/dev/null)),0.0.0-dev)
REVISION ?= $(or $(shell git rev-parse HEAD 2>/dev/null),unknown)
BRANCH   ?= $(or $(shell git rev-parse --abbrev-ref HEAD 2>/dev/null),unknown)
DATE     ?= $(or $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null),unknown)

version := github.com/prometheus/common/version
ldflags = -s -w \
	-X $(version).Version=$(VERSION) -X $(version).Revision=$(REVISION) \
	-X $(version).Branch=$(BRANCH) -X $(version).BuildDate=$(DATE)

# The same for builds and tests, so that the many dependencies are compiled once.
export CGO_ENABLED ?= 0
export GOFLAGS := $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath

# Modules of their own, which `./...` leaves out, and those of them that have tests.
modules = $(foreach m,$(sort $(shell find * -name go.mod -path '*/*')),$(if $(shell find $(dir $m) -name '*.go' -print -quit),$(patsubst %/,%,$(dir $m))))
# Tidying this one would fetch all that Prometheus' own tests need, two gigabytes.
untidy  = rules/lint
tested  = $(foreach m,$(modules),$(if $(shell find $m -name '*_test.go' -print -quit),$m))

# What `make install-deps` fetched. A test that misses its part says so and is skipped.
export ICEBERG_EXPORTER_PYTHON       ?= $(wildcard $(CURDIR)/.cache/venv/bin/python)
export ICEBERG_EXPORTER_REST_FIXTURE ?= $(wildcard $(CURDIR)/.cache/parts/rest-fixture)

lint := .cache/bin/golangci-lint

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the exporter, a static binary
	go build -ldflags '$(ldflags)' -o iceberg_exporter ./cmd/iceberg_exporter

.PHONY: run
run: build ## Build the exporter and run it on the sample warehouse
	@echo "Metrics of the sample warehouse: http://$(ADDRESS)/metrics"
	@exec ./iceberg_exporter --config.file=deploy/sample.yml --web.listen-address=$(ADDRESS)

.PHONY: test
test: export ICEBERG_EXPORTER_BINARY := $(CURDIR)/iceberg_exporter
test: build ## Run all tests
	go test $(TESTFLAGS) ./...
	@for m in $(tested); do echo "go -C $$m test ./..."; go -C $$m test -count=1 $(TESTFLAGS) ./...; done

.PHONY: race
race: export CGO_ENABLED := 1
race: export ICEBERG_EXPORTER_BINARY := $(CURDIR)/.cache/race/iceberg_exporter
# The modules of their own test the exporter from outside: it is what has the race detector there. They read files
# outside of themselves, of which Go's cache of test results knows nothing.
race: ## Run all tests under the race detector (needs a C compiler)
	go build -race -o $(ICEBERG_EXPORTER_BINARY) ./cmd/iceberg_exporter
	go test -race $(TESTFLAGS) ./...
	@for m in $(tested); do echo "go -C $$m test ./..."; CGO_ENABLED=0 go -C $$m test -count=1 $(TESTFLAGS) ./...; done

.PHONY: fuzz-smoke
fuzz-smoke: ## Run every fuzz target for FUZZTIME
	scripts/fuzz-smoke.sh $(FUZZTIME)

.PHONY: bench
bench: ## Run the benchmarks that match BENCH
	go test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 60m ./...

$(lint): tools/golangci-lint/go.mod tools/golangci-lint/go.sum
	go -C tools/golangci-lint build -ldflags '-s -w' -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: lint
lint: $(lint) ## Run the linters
	@for m in . $(modules); do echo "cd $$m && golangci-lint run"; (cd $$m && $(CURDIR)/$(lint) run); done

.PHONY: fmt
fmt: $(lint) ## Format the Go code
	$(lint) fmt

.PHONY: fmt-check
fmt-check: $(lint) ## Fail when Go code is not formatted
	$(lint) fmt --diff

.PHONY: tidy-check
tidy-check: ## Fail when a go.mod or go.sum is not tidy
	@for m in . $(filter-out $(untidy),$(modules)); do echo "go -C $$m mod tidy -diff"; go -C $$m mod tidy -diff; done

.PHONY: rules-check
rules-check: ## Check and test the alert rules (needs promtool and amtool)
	scripts/rules-check.sh

.PHONY: docker-check
docker-check: build ## Check the Dockerfile, build its last stage and run it (needs buildah)
	scripts/docker-check.sh iceberg_exporter

.PHONY: install-deps
install-deps: ## Install what the heavier tests and checks need (Debian, as root)
	scripts/install-deps.sh

.PHONY: clean
clean: ## Remove what the other targets made
	rm -rf iceberg_exporter .cache
