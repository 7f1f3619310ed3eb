# `make demo` shows what Bentpipe does, `make test` runs every test, `make help` lists all targets.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup page wasm check-engine build install wheel package image demo test test-tools test-rust test-rust-clocks test-rust-others test-rust-units test-rust-integration test-rust-docs test-page test-report test-python lint lint-sources deny docs docs-check site check-site bench peers interop-cases matrix atlas validate explain-truth clocks hughes fuzz swarm clean

# Output directory of runs.
OUT ?= out
# The command that cargo builds.
BENTPIPE := $(or $(CARGO_TARGET_DIR),target)/debug/bentpipe
STUDIO_SOURCES := $(shell find studio/src studio/index.html studio/studio.html studio/trace.html studio/vite.config.ts studio/package-lock.json studio/tsconfig.json 2>/dev/null)

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: ## Install what building and testing need, or list what is missing
	@command -v python3 >/dev/null || { echo "setup: missing: python3" >&2; exit 1; }
	@tools/build/setup

studio/node_modules/.installed: studio/package-lock.json
	cd studio && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

studio/dist/index.html: studio/node_modules/.installed $(STUDIO_SOURCES)
	cd studio && npm run --silent build
	@touch $@

page: studio/dist/index.html ## Build the report page

# With the features that the whole workspace gives its dependencies, as the tests: what one has
# compiled, the other does not compile again.
build: page ## Build the command with the page inside
	cargo build --locked --workspace --bin bentpipe

wheel: page ## Build the Python package for other machines: target/wheels
	MATURIN_PEP517_ARGS="--profile wheel" python3 -m pip wheel --no-deps --wheel-dir target/wheels .

wasm: build ## Build the virtual clock for pages
	tools/build/wasm
	node tools/build/pack-engine.mjs $(BENTPIPE)

package: page ## Build a Debian package and an RPM (ARCH=arm64 on another machine too): target/package
	tools/release/package

image: package ## Build an image of that package for podman and docker: target/package
	tools/release/image

# Where `make install` puts the command, its man pages and completions.
PREFIX ?= $(HOME)/.local

install: page ## Install the command, man pages and completions below ~/.local (PREFIX)
	cargo install --locked --path crates/cli --root $(PREFIX)
	$(PREFIX)/bin/bentpipe man $(PREFIX)/share/man/man1
	[ ! -f target/wasm/engine.html ] || \
		install -D -m 0644 -t $(PREFIX)/share/bentpipe target/wasm/engine.html
	@mkdir -p $(PREFIX)/share/bash-completion/completions $(PREFIX)/share/zsh/site-functions \
		$(PREFIX)/share/fish/vendor_completions.d
	$(PREFIX)/bin/bentpipe completions bash >$(PREFIX)/share/bash-completion/completions/bentpipe
	$(PREFIX)/bin/bentpipe completions zsh >$(PREFIX)/share/zsh/site-functions/_bentpipe
	$(PREFIX)/bin/bentpipe completions fish >$(PREFIX)/share/fish/vendor_completions.d/bentpipe.fish

# Builds only what the demonstration runs: no product, no real clock, no Parquet files. `make
# validate` runs all ten repeats.
demo: ## GEO downloads, with a table and a report
	@tools/build/setup --tools
	@echo "demo: building the report page and the laboratory (about four minutes the first time)"
	@$(MAKE) --no-print-directory page
	cargo build --locked -p bentpipe-cli --no-default-features
	@echo "demo: running downloads of 2, 10 and 100 MB (under a minute)"
# Status 1 is an expectation that is not met, of which the table tells.
	@$(BENTPIPE) run scenarios/published/cnes-start.toml --repeat 3 --out $(OUT)/cnes-start || \
		{ [ $$? = 1 ] && echo "demo: FAILED marks expectations that are not met; research/quic.md says why"; }

test: setup test-tools test-rust test-page test-report ## Every test: tools, Rust, then the page in a browser

test-tools: ## The tests of tools/, in seconds
	python3 -B -m unittest -q tools/*/tests/test_*.py

# Units, integration and documentation beside each other, as many tests wait for a network's time.
# Units and documentation compute, and give way.
test-rust: page
	cargo test --workspace --locked --quiet --no-run
	@$(MAKE) --no-print-directory test-rust-clocks
	@$(MAKE) --no-print-directory test-rust-others

# These compare times to the millisecond: nothing runs beside them.
test-rust-clocks:
	cargo test --workspace --locked --quiet --test clocks

test-rust-others:
	@$(MAKE) --no-print-directory -j 3 --output-sync=line \
		test-rust-integration test-rust-units test-rust-docs

test-rust-units:
	env -u MAKEFLAGS -u MFLAGS nice -n 3 cargo test --workspace --locked --quiet --lib --bins

test-rust-integration:
	env -u MAKEFLAGS -u MFLAGS cargo test --workspace --exclude bentpipe-realclock --locked --quiet \
		--test '*'

test-rust-docs:
	env -u MAKEFLAGS -u MFLAGS nice -n 3 cargo test --workspace --locked --quiet --doc

# The page is tested only if it or its tests have changed since they last passed.
test-page: studio/node_modules/.tested
studio/node_modules/.tested: studio/dist/index.html $(shell find studio/tests -type f 2>/dev/null)
	cd studio && npm run --silent typecheck && npm run --silent test:unit && \
		npx vitest run --project page
	@touch $@

# The examples that run in seconds: the numbers in the sentences of their reports are recomputed.
SENTENCES := ack-filter acks cross-traffic dama first hops latency-under-load leo leo-ping \
	overshoot pep-fails policer rain schedule second-visit token two-flows upload users video

# Tests the page as the command writes it, with real results: of a download, and of many users. Then
# the sentences of examples, and the studio as the command serves it.
# Only if the command or these tests have changed since they last passed.
test-report: build
	@$(MAKE) --no-print-directory studio/node_modules/.reported

studio/node_modules/.reported: $(BENTPIPE) $(shell find studio/tests -type f 2>/dev/null) \
		$(wildcard scenarios/examples/*)
	for name in first users; do \
		$(BENTPIPE) run scenarios/examples/$$name.toml --out $(OUT)/test-$$name >/dev/null && \
		(cd studio && BENTPIPE_REPORT=$(abspath $(OUT))/test-$$name/report.html \
			npx vitest run --project page tests/real.page.test.ts) || exit 1; \
	done
	for name in $(SENTENCES); do \
		$(BENTPIPE) run scenarios/examples/$$name.toml --out $(OUT)/test-$$name >/dev/null || \
			[ $$? -le 3 ] || exit 1; \
	done
	reports=$$(printf '%s:' $(SENTENCES:%=$(abspath $(OUT))/test-%/report.html)) && \
		cd studio && BENTPIPE_REPORTS=$$reports \
		npx vitest run --project unit tests/sentences.unit.test.ts
	cd studio && BENTPIPE_COMMAND=$(abspath $(BENTPIPE)) \
		npx vitest run --project page tests/studio.page.test.ts tests/workbench.page.test.ts \
			tests/forms.page.test.ts tests/keeping.page.test.ts tests/import.page.test.ts \
			tests/editable.page.test.ts
	@touch $@

test-python: page ## Test the Python package: the wheel in a new environment
	tools/check/python-package

lint: lint-sources ## Formatting, spelling, clippy, documentation, the page's sources: warnings are errors
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

# What compiles nothing.
lint-sources: studio/node_modules/.installed
	tools/check/spelling
	tools/check/layout
	tools/check/features
	cargo fmt --all --check
	cd studio && npm run --silent lint
	@$(MAKE) --no-print-directory deny

# The database of advisories is fetched from GitHub: `tools/check/deny --advisories` is for releases.
deny: ## Licences, sources and versions of dependencies, where cargo-deny is installed
	@tools/check/deny

MDBOOK := target/tools/bin/mdbook

$(MDBOOK): tools/build/mdbook.txt
	tools/build/mdbook
	@touch $@

# They can be opened from disk, and link to each other.
docs: $(MDBOOK) ## Build the book and research/: target/book/index.html, target/research/index.html
	$(MDBOOK) build docs
	$(MDBOOK) build research

# Without a store, or with a new one, the gallery's runs take a minute or two.
site: build $(MDBOOK) ## Build the site, which any host or a disk can serve: target/site/index.html
	tools/site/build --bentpipe $(BENTPIPE) --mdbook $(MDBOOK) $(if $(PART),--part $(PART))

# PART=3/12 has a twelfth of the gallery's reports.
check-site: site ## Check the site's links, and every page of it in Chromium
	tools/site/check-links target/site
	cd studio && BENTPIPE_SITE=$(abspath target/site) \
		npx vitest run --project page tests/site.page.test.ts

docs-check: build ## Check the book's outputs against the command, and its links
	tools/book/check --bentpipe $(BENTPIPE)

bench: page ## Speed: criterion benches, then whole commands beside picoquic
	cargo bench --locked -p bentpipe-sim
	cargo run --release --locked -p bentpipe-orbit --example steps
	tools/bench/commands
	tools/bench/commands --instructions
	cargo run --release --locked -p bentpipe-emu --example speed
	cargo run --release --locked -p bentpipe-net --example load

peers: ## Install other people's clients and servers for `bentpipe interop`
	@peers/install

interop-cases: build ## Test cases of the QUIC interop runner, with installed peers (half an hour)
	cargo build -p bentpipe-net --example quic-interop
	@tools/peers/interop-cases

explain-truth: build ## Transfers of real programs with planted causes, and how explain judges them (20 minutes)
	tools/peers/explain-truth --bentpipe $(BENTPIPE) make --seed $(or $(SEED),1) --count 100 --out $(OUT)/explain-truth
	tools/peers/explain-truth --bentpipe $(BENTPIPE) score $(OUT)/explain-truth
	tools/peers/explain-truth --bentpipe $(BENTPIPE) hostile $(OUT)/explain-truth

matrix: build ## Every client against every server on the path with published objectives (an hour)
	$(BENTPIPE) interop --profiles geo-50-10 --size "2 MB" "10 MB" "100 MB" --out $(OUT)/interop

check-engine: wasm ## Compare the clock for pages with the command's, and test pages that run
	node tools/build/compare-wasm.mjs $(BENTPIPE)
	cd studio && BENTPIPE_COMMAND=$(abspath $(BENTPIPE)) \
		npx vitest run --project page tests/editable.page.test.ts

validate: build ## Long validations: every scenario against atlas/, error rates of compare, planted causes
	tools/atlas/run --check --bentpipe $(BENTPIPE)
	cargo run --locked --quiet -p bentpipe-lab --example compare
	BENTPIPE_SEED=99 BENTPIPE_EACH=10 cargo test --locked --quiet -p bentpipe-lab --test planted_keys -- --nocapture
	@if tools/build/wasm --missing; then $(MAKE) --no-print-directory check-engine; \
		else echo "validate: skipped: the engine for pages, as said above"; fi

# The book's tables and figures come from atlas/; `make docs-check` compares them.
atlas: page ## Run all published, study, safety and validation scenarios; say what moved; write atlas/
	cargo build --release --locked -p bentpipe-cli
	tools/atlas/run --bentpipe $(or $(CARGO_TARGET_DIR),target)/release/bentpipe

# Takes half an hour with one run at a time.
clocks: build ## Run the scenarios that compare both clocks in real time: the kernel's TCP, our QUIC, calls and video
	tools/atlas/clocks --bentpipe $(BENTPIPE) --jobs $(or $(JOBS),1)

# Goes on where an earlier call ended. Needs root, nft, Chromium and playwright-core (`make setup`).
hughes: build ## The Hughes study with Chromium and bentpipe pep (an hour in real time)
	tools/atlas/hughes --bentpipe $(BENTPIPE)

# With the features of the whole workspace, with which its tests have built everything: `--test
# swarm` is what builds the program.
swarm: ## Random episodes of the whole for two minutes (MINUTES), from new seeds
	cargo test --workspace --locked --quiet --test swarm --no-run
	$(or $(CARGO_TARGET_DIR),target)/debug/swarm --minutes $(or $(MINUTES),2)

fuzz: ## A minute of fuzzing for each parser of untrusted input
	@tools/check/fuzz 60

clean: ## Remove what was built
	cargo clean
	rm -rf studio/dist studio/node_modules
