# Short commands for people; CMake does the work (see CMakePresets.json) and tools/ has the scripts.

PREFIX ?= /usr/local
DESTDIR ?=
TIME ?=

.PHONY: all help demo test bench valgrind fuzz soak lint coverage install clean

all: ## build Strait: leaves build/release/strait
	@tools/deps build
	@cmake --preset release > /dev/null
	@cmake --build --preset release
	@echo "built: build/release/strait"

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: all ## show what Strait does, in about a minute
	@tools/demo

test: ## everything that can fail: sanitizers, both compilers, valgrind, fuzz smoke, end to end
	@tools/deps
	@tools/test

valgrind: ## unit tests of all modules under valgrind, in about ten minutes
	@tools/deps
	@tools/test --every valgrind

bench: all ## measure on this machine
	@tools/bench

fuzz: ## every fuzz target for TIME seconds each (60)
	@tools/deps build
	@tools/fuzz $(or $(TIME),60)

soak: all ## real processes and simulations under faults for TIME seconds (600)
	@tools/soak $(or $(TIME),600)

lint: ## format, tidy, clang-tidy, cppcheck, shellcheck
	@tools/deps
	@tools/lint

coverage: ## lines and branches that the tests reach: build/coverage/report/index.html
	@tools/deps
	@tools/coverage

install: all ## install below PREFIX (/usr/local), staged in DESTDIR
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)" --strip

clean: ## remove build/
	@rm -rf build
