# Commands for people who use or change Togo; `make help` lists them.
GO    ?= go
BIN   := bin
TOGO  := $(BIN)/togo
FUZZTIME ?= 10000x
KILLS ?= 200
SEED  ?= 1
SEEDS ?= 1000
N     ?= 3000
WORKLOAD ?= small

export CGO_ENABLED ?= 0

.PHONY: help build demo test test-all sqldiff sim crash faults chaos mutants fuzz bench compare lint clean
.DEFAULT_GOAL := help

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-10s %s\n", $$1, $$2}'

build: ## build the program: bin/togo
	$(GO) build -trimpath -o $(TOGO) ./cmd/togo

demo: build ## feed real events with duplicates, kill the process in the middle, show that nothing is lost or double
	@$(GO) build -o $(BIN)/demo ./cmd/demo
	@$(BIN)/demo -togo $(TOGO)

test: ## every test that needs Go alone
	$(GO) vet ./...
	$(GO) test ./...

test-all: ## and those that need other servers or languages (S3 server, Apache Kafka, DuckDB, pyarrow, kcat); fuzzing; the README's examples
	./scripts/test-servers.sh
	./scripts/fuzz.sh $(FUZZTIME)

sqldiff: ## answers of generated queries, held against DuckDB's on the same files (N=3000 SEED=1 ARGS='-rows 8000'; needs cgo)
	@cd sqldiff && CGO_ENABLED=1 $(GO) run . -n $(N) -seed $(SEED) $(ARGS)

mutants: ## break the protocol on purpose, in many ways, and show that the proof catches each (ARGS='-only name', '-check', '-sim')
	$(GO) run ./cmd/mutants $(ARGS)

fuzz: ## a short run of every fuzz target (FUZZTIME=10000x tries each)
	./scripts/fuzz.sh $(FUZZTIME)

sim: ## the whole system under one seed, with every fault there is: SEEDS=1000 seeds, each with its oracle (ARGS='-seed 17 -trace')
	@$(GO) run ./cmd/sim -seeds $(SEEDS) $(ARGS)

crash: ## a fixed scenario, once for every call of store and Kafka: crash before and after it, its answer lost, its write landing late
	@$(GO) run ./cmd/sim -crash $(ARGS)

faults: ## the faults that such systems had, each kind by its name: what was tried, and the result
	@$(GO) run ./cmd/faults

chaos: build ## kill, pause and cut off processes of every role over Apache Kafka and an S3 server (KILLS=200 SEED=1 ARGS='-for 5m')
	@./scripts/chaos.sh -kills $(KILLS) -seed $(SEED) $(ARGS)

bench: ## CPU time, allocations and memory for each step of an event's way; twelve queries beside DuckDB
	./scripts/bench.sh

compare: ## one job by Togo, DuckDB and the Iceberg sink of Kafka Connect, and what each step of it takes alone (ARGS='-events 1000000')
	@./scripts/compare.sh $(ARGS)

scale: build ## what 100,000 tenants, 1,024 shards and a month of history cost: a model on the real code (ARGS='--tenants 2000 --shards 32')
	@$(TOGO) bench scale $(ARGS)

load: build ## put a load on Togo, every role a process of its own, and measure it (WORKLOAD=small ARGS='--for 1m --rate 20000')
	@$(TOGO) bench --workload $(WORKLOAD) $(ARGS)

lint: ## formatting and vet
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...

clean: ## remove what was built
	rm -rf $(BIN) .cache
