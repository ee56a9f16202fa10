# make         builds bin/holdfast
# make help    lists the targets

GO      ?= go
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
FUZZ    ?= 10s
SEEDS   ?= 2
# The tools are pinned in a file of their own, so that the product's go.mod
# holds the product's dependencies only.
TOOLS   := -modfile=tools/tools.mod

.DEFAULT_GOAL := build
.PHONY: build demo test compat check format vet lint vuln bench agents eval fuzz clean help

build: ## bin/holdfast
	$(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/holdfast ./cmd/holdfast

demo: build ## show what survives a compaction, without and with Holdfast
	bin/holdfast demo

test: ## all tests, with the race detector
	$(GO) test -race -timeout 20m ./...

compat: ## hold it to a secret scanner, another event reader and the providers' SDKs
	cd tests/compat && $(GO) vet ./... && $(GO) test -timeout 15m ./...

check: format vet lint vuln ## everything that reads the code

format:
	@files=$$($(GO) tool $(TOOLS) gofumpt -l .); \
	test -z "$$files" || { echo "not in the form of gofumpt (run: go tool $(TOOLS) gofumpt -w .):"; echo "$$files"; exit 1; }

vet:
	$(GO) vet ./...

lint:
	@! git grep -nE '^(<{7}|>{7}) ' || { echo "a merge was not finished there"; exit 1; }
	$(GO) tool $(TOOLS) golangci-lint run ./...

# Status 3 means findings. Those in a module fail the check; those in the
# standard library depend on the machine's Go and are only shown.
vuln:
	@$(GO) mod download $(TOOLS) golang.org/x/vulndb
	@db=$$($(GO) list -m $(TOOLS) -f '{{.Dir}}' golang.org/x/vulndb); status=0; \
	report=$$($(GO) tool $(TOOLS) govulncheck -db "file://$$db/data/osv" ./...) || status=$$?; \
	case $$status in 0) ;; 3) echo "$$report" | grep -E '^(Vulnerability|  Module|  Standard|    Found|    Fixed|Your code)' ;; *) exit $$status ;; esac; \
	! echo "$$report" | grep -q '^  Module:'

bench: ## measure what conversations cost, and what the proxy does
	$(GO) test -run '^$$' -bench 'Project|Append|PrintBegins' ./conversation ./store/sqlite ./cmd/holdfast
	$(GO) run ./tools/bench

agents: ## run real agents through the proxy
	$(GO) run ./tools/agents

eval: build ## measure what survives fifty compactions, some ten minutes; the table is docs/survival.md
	@mkdir -p docs
	@status=0; bin/holdfast eval survival --seeds $(SEEDS) --compactions 50 --interleavings 80 > bin/survival.txt || status=$$?; \
	{ echo "# What survives fifty compactions"; echo; \
	echo "Written by \`make eval\`. What is measured, and how, stands in the package comment of \`eval/survival\`."; echo; \
	echo '```text'; cat bin/survival.txt; echo '```'; } > docs/survival.md; exit $$status

fuzz: ## every fuzz target, for FUZZ=10s each
	@for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		for target in $$(grep -rhoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' $$dir/*_test.go | sed 's/^func //'); do \
			echo "$$dir $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) $$dir || exit 1; \
		done; \
	done

clean: ## remove what was built
	rm -rf bin

help:
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10
