# What a developer runs. `make check` is what must pass before a commit.

GO ?= go
STATICCHECK = $(GO) tool -modfile=tools.mod staticcheck

# Packages whose tests take -update.
GOLDEN = $(shell $(GO) list -f '{{$$p := .ImportPath}}{{range .TestImports}}{{if eq . "github.com/ncclgo/ncclgo/internal/golden"}}{{$$p}}{{"\n"}}{{end}}{{end}}{{range .XTestImports}}{{if eq . "github.com/ncclgo/ncclgo/internal/golden"}}{{$$p}}{{"\n"}}{{end}}{{end}}' ./... | sort -u)

.PHONY: generate check lint test prove parity fuzz golden bench

generate: ## render, compile and archive the kernels; rewrite the tables and enum strings
	$(GO) generate ./...

check: lint test ## everything but the benchmarks
	$(GO) run ./cmd/nccl-gen -check

lint:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change: $$out"; exit 1; fi
	$(GO) vet ./...
	$(STATICCHECK) ./...
	$(GO) mod tidy -diff

test:
	$(GO) test ./...

prove: ## every kernel in every case under both memory models, and every planted fault (docs/PROOF.md): some core-hours
	$(GO) test ./runtime/internal/conformance -run '^(TestKernels|TestMutants)$$' -count 1 -timeout 0 -v -prove

parity: ## graphs, channels, costs, choices and schedules beside NCCL's own, for every reference run: equal and total per kind
	$(GO) test ./topo/... ./planner/... ./cmd/nccl-run/internal/cli -run '^TestParity' -count 1 -v

# Fuzz targets, each with its package. Looking for a smaller input takes no more than
# some tries, or slow ones would take the minute.
FUZZ = topo:FuzzParse topo:FuzzParseGraphs topo/detect:FuzzReadCapture topo/detect:FuzzFile device/ptx:FuzzParse internal/archive:FuzzOpen internal/nvml:FuzzReadSnapshot \
	cmd/nccl-run/internal/cli:FuzzSize planner:FuzzParseRule planner:FuzzParseTuning

fuzz: ## what reads files and flags, a minute each
	for target in $(FUZZ); do \
		$(GO) test ./$${target%%:*} -run '^$$' -fuzz "^$${target##*:}$$" -fuzztime 60s -fuzzminimizetime 10x || exit 1; \
	done

golden: ## rewrite the golden files; read the diff before committing it
	$(GO) test $(GOLDEN) -update

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...
