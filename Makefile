# Everything a newcomer, a developer or CI needs. `make help` lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export CARGO_TERM_COLOR ?= auto
AIRLANE := target/release/airlane

.PHONY: help setup check-tools build dist wheel container octopus demo test lint browsers bench against doc deny fmt clean

help: ## What there is to do
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

check-tools: ## Name what is missing, in one line to run
	@scripts/check-tools

setup: ## Install what is missing (Debian or Ubuntu; sudo unless root; asks nothing)
	@scripts/check-tools --install

build: check-tools ## Build the release binary
	cargo build --release --locked --bin airlane

dist: check-tools ## What to install elsewhere: an archive and a .deb in out/dist
	scripts/dist

wheel: check-tools ## The wheel of the Python package in out/wheel (WHEEL="--profile wheel": without link-time optimisation)
	scripts/wheel $(WHEEL)

container: ## The image airlane, by docker or podman (says so where there is neither)
	scripts/container

octopus: check-tools ## Install Octopus for C: header, library, pkg-config (PREFIX=/usr/local DESTDIR=)
	scripts/install-octopus

demo: build ## Four viewers on one link, one stream over two radios: out/demo/report.html
	$(AIRLANE) demo --out out/demo

test: check-tools ## Format, lints, docs, and every test
	scripts/test

lint: ## Lints alone, which are a part of test
	scripts/lint

browsers: build ## Four browsers share one link: out/browsers/report.html (STORY="--abr bola --repeat 5")
	node tests/browser/story.mjs --airlane $(AIRLANE) --out out/browsers $(STORY)
	$(AIRLANE) report out/browsers --out out/browsers

bench: build ## Speed and fidelity beside ns-3: out/bench/bench.json (BENCH="--only speed --quick")
	cargo build --release --locked -p airlane-bench
	target/release/airlane-bench --out out/bench $(BENCH)

against: check-tools ## Speed beside an earlier commit's, in turn: out/against/against.json (AGAINST="HEAD~1 --rounds 3")
	scripts/bench/against $(AGAINST)

doc: ## The API documentation
	cargo doc --locked --no-deps --workspace

deny: ## Licences, sources and advisories of all dependencies
	scripts/deny

fmt: ## Format the code
	cargo fmt

clean: ## Remove what was built
	cargo clean && rm -rf out
