# The front door. `make help` lists what there is; the work is done by CMake, tools/ and test/.
J ?= $(shell nproc)
build = cmake --preset $(1) $(if $(V),,--log-level=WARNING) && cmake --build $(2) -j $(J) $(3)
ctest = ctest --test-dir $(1) --output-on-failure --no-tests=error -j $(J) $(2)

all: ## builds the programs into build/bin/
	@$(call build,release,build,--target programs)
demo: ## sets everything up and trains a real model on this machine
	@tools/demo
demo-yarn: ## the same training on a real Hadoop, which it fetches and starts on this machine
	@tools/demo-yarn
demo-yarn-down: ## stops that Hadoop
	@tools/demo-yarn down
setup: ## installs what this machine lacks (the table is in tools/setup)
	@tools/setup all
check: ## what CI runs: unit tests, gates, fuzz corpora, and tests on real clusters beside them
	@J=$(J) tools/check $(ARGS)
everything: ## builds the programs and all that tests them
	@$(call build,release,build)
check-full: ## everything: check, sanitizers, torture, fuzzing, all clusters; continues where it stopped
	@tools/setup --packages all
	@tools/check-full $(ARGS)
shared: ## the programs linked with the C library of this machine, so that tests can preload a clock
	@$(call build,shared,build/shared,--target programs)
asan: ## unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(call build,asan,build/asan) && $(call ctest,build/asan,-L 'unit|fuzz')
tsan: ## unit tests under ThreadSanitizer
	@$(call build,tsan,build/tsan) && $(call ctest,build/tsan,-L unit)
torture: ## every unit test, once for each allocation that can fail
	@$(call build,torture,build/torture) && $(call ctest,build/torture,-L torture)
fuzz: ## every fuzz target for YDL_FUZZ_SECONDS (30)
	@$(call build,fuzz,build/fuzz,--target fuzzers) && $(call ctest,build/fuzz,-L fuzz)
check-gpu: all ## jobs on a machine with an NVIDIA GPU (check-full does not need one)
	@test/gpu/check && test/gpu/check_serving
check-cgroup: all ## memory limits on a machine with cgroups of version 2 that we may make
	@test/cgroup/check
cov: ## line coverage of the unit tests, as build/cov/index.html
	@$(call build,cov,build/cov) && $(call ctest,build/cov,-L 'unit|fuzz')
	@gcovr --root . --filter src/ --exclude '.*_test\.c' --html-details build/cov/index.html \
	    --print-summary build/cov
tidy: ## clang-tidy over src/
	@$(call build,dev,build/dev) && tools/tidy build/dev
format: ## clang-format over all C files
	@find src test fuzz bench -name '*.[ch]' | xargs clang-format -i
format-check: ## says what `make format` would change
	@test/gates/run format
cluster-up: ## starts a real Hadoop on this machine (test/cluster/hadoop up --help)
	@test/cluster/hadoop up $(ARGS)
cluster-down: ## stops it
	@test/cluster/hadoop down $(ARGS)
bench: all ## speed and memory beside the Java client
	@bench/run $(ARGS)
man: all ## the man pages into build/man/
	@cmake --build build --target man
install: all ## programs, manual pages and completions below PREFIX (/usr/local); DESTDIR is obeyed
	@cmake --install build --strip --prefix $(abspath $(or $(PREFIX),/usr/local))
clean: ## removes build/
	rm -rf build
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | awk -F'|' '{ printf "%-15s %s\n", $$1, $$2 }'
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)
.NOTPARALLEL:
