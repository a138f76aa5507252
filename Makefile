# Builds Ordinal, tests it and installs it. `make help` lists the targets.
# config=release|debug|sanitize|thread picks flags and the folder build/$(config), so switching never needs `clean`;
# the targets fuzz and arm64 use a config of their own.
# A fresh clone compiles a folder at a time, in two fifths of the time. Whoever works on the code says `make unity=0` once:
# from then on this build folder goes file by file.

config ?= release
CXX ?= g++
AR ?= ar
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 20
B := build/$(config)
SHELL := bash

# As many jobs as processors unless -j is given; `clean` with other goals runs in order.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS))$(filter clean,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

# -ffp-contract=off: a multiply and an add are fused only where the source says so; the bits depend on it.
# -fno-strict-aliasing: mapped bytes may be read as numbers; costs nothing measurable here.
# -fopenmp: the threads; one file has the pragma (src/kernels/threads.cpp).
# -MMD -MP: each object lists the headers it was made from.
FLAGS := -std=c++20 -ffp-contract=off -fno-strict-aliasing -fopenmp -MMD -MP -Iinclude -Isrc
# -Wno-sign-conversion: sizes are int64_t and meet size_t at every container; -Wconversion still finds real losses.
# -Wno-restrict: GCC 12 sees overlapping copies inside std::string's own operator+ (GCC bug 105651).
# -Wno-dangling-reference: GCC 13 and 14 take a reference into an argument for one into a name made on the way.
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-restrict -Wno-dangling-reference \
  -Werror
LIBS := -lpcre2-8 -lutf8proc

# -g1: stack traces with line numbers, no variables. -DNDEBUG: no checks inside the standard library.
flags_release := -O2 -g1 -DNDEBUG
flags_debug := -O0 -g
# Address and undefined behaviour together; -O1 keeps the suite within minutes.
flags_sanitize := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
# clang has its own way of saying which sanitizer is on; the sources ask in GCC's.
flags_thread := -O1 -g -fsanitize=thread -D__SANITIZE_THREAD__=1
# libFuzzer comes with clang, whose warnings are not g++'s; only the harnesses link its main.
flags_fuzz := -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
  -D__SANITIZE_ADDRESS__=1
# -static: the programs run under qemu without an arm64 system around them.
flags_arm64 := -O2 -g1 -DNDEBUG -static
ifeq ($(flags_$(config)),)
$(error config=$(config) is not one of release, debug, sanitize, thread)
endif
# clang: libFuzzer comes with it, and its OpenMP runtime tells the thread sanitizer what waits for what (GCC's does not).
# Its warnings are not g++'s.
ifneq ($(filter fuzz thread,$(config)),)
CXX := $(shell tools/install_packages.sh --clang)
WARN := -Wall -Wextra
endif
ifeq ($(config),arm64)
CXX := aarch64-linux-gnu-g++
AR := aarch64-linux-gnu-ar
sysroot := build/arm64/sysroot/usr/lib/aarch64-linux-gnu
LIBS := $(sysroot)/libpcre2-8.a $(sysroot)/libutf8proc.a
$(B)/ordinal $(B)/tests/run: $(LIBS)
$(sysroot)/libpcre2-8.a: package := libpcre2-dev
$(sysroot)/libutf8proc.a: package := libutf8proc-dev
# One after the other: they share the lists of packages.
$(sysroot)/libutf8proc.a: | $(sysroot)/libpcre2-8.a
$(LIBS):
	tools/fetch_arm64_library.sh build/arm64/sysroot $(package)
endif
ALL_FLAGS = $(FLAGS) $(WARN) $(flags_$(config)) $(EXTRA_FLAGS)

headers := $(wildcard include/ordinal/*.h src/*/*.h src/*/*/*.h src/*/*.def)
# src/ranks/mpi_ranks.cpp is for `make mpi` alone.
lib_sources := $(filter-out src/cli/% src/serve/% %/mpi_ranks.cpp,$(wildcard src/*/*.cpp src/*/*/*.cpp))
serve_sources := $(wildcard src/serve/*.cpp)
cli_sources := $(wildcard src/cli/*.cpp)
test_sources := $(wildcard tests/*.cpp tests/*/*.cpp)
# Debian has the HTTP library as a shared one, and the emulated programs are static.
ifeq ($(config),arm64)
serve_sources :=
cli_sources := $(filter-out src/cli/serve.cpp,$(cli_sources))
test_sources := $(filter-out tests/serve/%,$(test_sources))
FLAGS += -DORDINAL_WITHOUT_SERVER
else
SERVE_LIBS := -lcpp-httplib
endif
fuzz_sources := $(wildcard tools/fuzz/*.cpp)
all_sources := $(lib_sources) $(serve_sources) $(cli_sources) $(test_sources)
models := $(wildcard models/*.ordinal)
# The objects of some sources: one a folder, but for src/kernels, where every file has flags of its own, and src/ranks.
alone := src/kernels/% src/ranks/%
unity ?= $(if $(shell find $(B) -path $(B)/src/kernels -prune -o -path $(B)/src/ranks -prune -o -path $(B)/unity -prune -o -path $(B)/generated -prune -o -name '*.o' -print -quit 2>/dev/null),0,1)
folder_of = $(patsubst %/,%,$(dir $(1)))
each_object = $(patsubst %.cpp,$(B)/%.o,$(1))
ifeq ($(unity),1)
objects = $(call each_object,$(filter $(alone),$(1))) \
  $(addprefix $(B)/unity/,$(addsuffix .o,$(sort $(foreach source,$(filter-out $(alone),$(1)),$(call folder_of,$(source))))))
else
objects = $(each_object)
endif

# A line per file; `make V=1` shows whole commands.
quietly = $(if $(V),,@echo '  $(firstword $(1)) $@'; )$(1)

.DEFAULT_GOAL := all
.PHONY: all demo test test-isa mpi mpi-test parity real page-check serve-check lab-check sanitize thread fuzz arm64 example \
  bench bench-peers lint lint-rules tidy each format golden pictures model coverage study install uninstall packages clean help FORCE
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
.SECONDARY:

all: $(B)/ordinal $(B)/libordinal.a  ## build the command line tool and the library in build/$(config)/

$(B)/libordinal.a: $(call objects,$(lib_sources))
	@rm -f $@
	$(call quietly,$(AR) rcs $@ $^)

serve_objects = $(if $(serve_sources),$(call objects,$(serve_sources)) $(B)/generated/lab_page.o)

$(B)/ordinal: $(call objects,$(cli_sources)) $(serve_objects) $(B)/libordinal.a
	$(call quietly,$(CXX) $(ALL_FLAGS) $(LDFLAGS) -o $@ $(filter %.o %libordinal.a,$^) $(LIBS) $(SERVE_LIBS))

build/generated/lab_page.cpp: tools/embed_page.sh $(wildcard src/serve/lab/*)
	@mkdir -p $(@D)
	@tools/embed_page.sh src/serve/lab >$@
$(B)/generated/lab_page.o: build/generated/lab_page.cpp | build/packages/build.ok
	@mkdir -p $(@D)
	$(call quietly,$(CXX) $(ALL_FLAGS) -c -o $@ $<)

$(B)/bench_tokenizer: $(B)/tools/bench_tokenizer.o $(B)/libordinal.a
	$(call quietly,$(CXX) $(ALL_FLAGS) $(LDFLAGS) -o $@ $(filter %.o %libordinal.a,$^) $(LIBS))

$(B)/tests/run: $(call objects,$(test_sources)) $(serve_objects) $(B)/libordinal.a
	@mkdir -p $(@D)
	$(call quietly,$(CXX) $(ALL_FLAGS) $(LDFLAGS) -o $@ $(filter %.o %libordinal.a,$^) $(LIBS) $(SERVE_LIBS))

# Each instruction set has one object of its own; nothing else gets such flags (src/kernels/README.md).
# -O3: the loop bodies are written to be unrolled and vectorised. GCC's sanitizers make minutes of that, for one file.
kernel_flags := $(if $(filter sanitize,$(config)),-O1,-O3)
MACHINE := $(firstword $(subst -, ,$(shell $(CXX) -dumpmachine 2>/dev/null || uname -m)))
$(B)/src/kernels/generic.o: EXTRA_FLAGS += $(kernel_flags)
ifeq ($(MACHINE),x86_64)
AVX2 := -mavx2 -mfma -mf16c
AVX512 := -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni $(AVX2)
$(B)/src/kernels/avx2.o: EXTRA_FLAGS += $(kernel_flags) $(AVX2)
$(B)/src/kernels/avx512.o: EXTRA_FLAGS += $(kernel_flags) $(AVX512)
build/tidy/src/kernels/avx2.ok: EXTRA_FLAGS := $(AVX2)
build/tidy/src/kernels/avx512.ok: EXTRA_FLAGS := $(AVX512)
endif

# clang does not capture structured bindings where OpenMP is on; no test has a pragma.
ifneq ($(filter fuzz thread,$(config)),)
$(B)/tests/%.o $(B)/tools/%.o $(B)/unity/tests.o $(B)/unity/tests/%.o: EXTRA_FLAGS += -fno-openmp
endif
# What runs once a command need not be quick: a tenth of a fresh clone's wait.
ifeq ($(config),release)
$(foreach cold,cli draw report serve,$(eval $(B)/src/$(cold)/%.o $(B)/unity/src/$(cold).o: EXTRA_FLAGS += -O1))
endif
# Test code is compiled for every configuration and runs for a minute: -O0 halves the wait, more under the sanitizers.
# The reference forward pass is arithmetic in plain loops and worth optimizing.
$(B)/tests/%.o $(B)/tools/%.o $(B)/unity/tests.o $(B)/unity/tests/%.o: EXTRA_FLAGS += -Itests -O0 -g1
$(B)/tests/reference/%.o $(B)/unity/tests/reference.o: EXTRA_FLAGS += -O2
$(B)/%.o: %.cpp | build/packages/build.ok
	@mkdir -p $(@D)
	$(call quietly,$(CXX) $(ALL_FLAGS) -c -o $@ $<)

# A folder's files as one: names that only a file should see must differ within their folder.
$(B)/unity/%.o: build/unity/%.cpp | build/packages/build.ok
	@mkdir -p $(@D)
	$(call quietly,$(CXX) $(ALL_FLAGS) -I. -c -o $@ $<)
build/unity/%.cpp: FORCE
	@mkdir -p $(@D)
	@printf '#include "%s"\n' $(foreach source,$(all_sources),$(if $(filter $*,$(call folder_of,$(source))),$(source))) >$@.new
	@cmp -s $@ $@.new && rm $@.new || mv $@.new $@
FORCE:

-include $(patsubst %.o,%.d,$(call objects,$(all_sources)) $(call each_object,$(fuzz_sources)))

# Building and installing only say which packages are missing; every other target installs them.
check_only := $(if $(filter-out all install,$(or $(MAKECMDGOALS),all)),,--check)
build/packages/%.ok:
	@tools/install_packages.sh $(check_only) $*
	@mkdir -p $(@D) && touch $@
$(call objects,$(test_sources) $(fuzz_sources)): | build/packages/test.ok

packages:  ## install the Debian packages that building and testing need
	@tools/install_packages.sh build test

demo: all  ## install what is missing, build, and generate text with the shipped model
	@[ -n "$(models)" ] || { echo "make demo: models/ has no .ordinal file to run" >&2; exit 1; }
	$(B)/ordinal generate "Once upon a time" -n 120 --temp 0.6 --seed 8

test: $(B)/ordinal $(B)/tests/run  ## all tests; config=debug|sanitize picks another build, TEST_ARGS="-tc=word*" some of them
	@tools/run_tests.sh $(B)/tests/run $(TEST_ARGS)

# The best instruction set is what `make test` runs under; these are the others. "However" logits are computed goes through
# all of them by itself.
isas = generic $(shell grep -qw avx512_vnni /proc/cpuinfo && echo avx2)
computing := -tc=kernels*,model*,ranks*,contract*,checks*,position*,perplexity*,generat*,batch*,scheduler* -tce=*however*
test-isa: $(B)/ordinal $(B)/tests/run  ## the tests that compute, under every other ORDINAL_ISA that this machine has
	@for isa in $(isas); do echo "ORDINAL_ISA=$$isa"; \
	  ORDINAL_ISA=$$isa tools/run_tests.sh $(B)/tests/run $(or $(TEST_ARGS),$(computing)) || exit 1; done

sanitize:  ## all tests under the address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory config=sanitize test

# First a race that is there on purpose: a sanitizer that does not see it proves nothing.
# setarch: this sanitizer wants the old, less random memory layout that newer kernels leave.
sharing := -tc=kernels*,model*,ranks*,generat*,batch*,scheduler*,compare*,contract*
thread: build/packages/clang.ok  ## the tests that share work between threads, under the thread sanitizer
	@$(MAKE) --no-print-directory config=thread build/thread/ordinal build/thread/tests/run
	@export TSAN_OPTIONS=ignore_noninstrumented_modules=1 run_under="$$(setarch -R true 2>/dev/null && echo setarch -R)"; \
	  $$run_under build/thread/tests/run -ns -tc='planted race*' 2>&1 | grep -q 'ThreadSanitizer: data race' || \
	  { echo "the thread sanitizer did not notice the planted race" >&2; exit 1; }; \
	  tools/run_tests.sh build/thread/tests/run $(or $(TEST_ARGS),$(sharing))

mpi: build/mpi/ordinal  ## build/mpi/ordinal, which several machines can run together under mpirun (src/ranks/README.md)

# The objects of every build, with MPI's ranks before the library: what they define is not looked for in it.
build/mpi/ordinal: $(call objects,$(cli_sources)) $(serve_objects) build/mpi/mpi_ranks.o $(B)/libordinal.a
	$(call quietly,$(CXX) $(ALL_FLAGS) $(LDFLAGS) -o $@ $(filter %.o %libordinal.a,$^) $(LIBS) $(SERVE_LIBS) $(shell mpicxx --showme:link))
build/mpi/mpi_ranks.o: src/ranks/mpi_ranks.cpp src/ranks/ranks.h | build/packages/build.ok build/packages/mpi.ok
	@mkdir -p $(@D)
	$(call quietly,$(CXX) $(ALL_FLAGS) $(patsubst -I%,-isystem %,$(shell mpicxx --showme:compile)) -DOMPI_SKIP_MPICXX -c -o $@ $<)

mpi-test: mpi $(B)/ordinal  ## the bytes of one process on 1 to 8 ranks, and ranks that fail; MPI_TEST="--long" takes all
	tools/check_ranks.py $(B)/ordinal build/mpi/ordinal $(MPI_TEST)

real: all build/venv/real.ok  ## published models against transformers on the same GGUF files (downloads 350 MB)
	build/venv/bin/python tools/real_models.py $(B)/ordinal

parity: all build/venv/parity.ok  ## logits and ids of models of GPT-2's size against transformers
	build/venv/bin/python tools/parity.py $(B)/ordinal

# Without PAGE, a page of made-up numbers, which has everything that a page can have.
page := $(or $(PAGE),build/page/sample.html)
page-check: build/packages/page.ok $(page)  ## a page of `compare --html` in a headless Chromium: PAGE=file
	tools/check_page.py "$(page)" --pictures build/page/pictures
build/page/sample.html: $(B)/tests/run
	@mkdir -p $(@D)
	SAMPLE_PAGE=$@ $< -ns -tc='compared_html: writes a sample page' >/dev/null

# Bounded: two minutes, most of them lm-evaluation-harness's.
serve-check: all build/venv/serve.ok  ## the server asked by the openai package, curl and lm-evaluation-harness
	build/venv/bin/python tools/check_server.py $(B)/ordinal
lab-check: all build/packages/page.ok  ## the lab in a headless Chromium, clicked through
	python3 tools/check_lab.py $(B)/ordinal --pictures build/lab

# One program per reader (tools/fuzz/README.md), FUZZ_SECONDS each; what they find lies in build/fuzz/found/.
fuzzers := $(patsubst tools/fuzz/%.cpp,%,$(wildcard tools/fuzz/fuzz_*.cpp))
fuzz: build/packages/clang.ok  ## every reader on mutated files, FUZZ_SECONDS=20 each
	@$(MAKE) --no-print-directory config=fuzz $(fuzzers:%=build/fuzz/%) build/fuzz/seeds
	@tools/run_fuzzers.sh $(FUZZ_SECONDS) $(fuzzers)
build/fuzz/fuzz_request: $(call each_object,src/serve/requests.cpp)
build/fuzz/fuzz_%: build/fuzz/tools/fuzz/fuzz_%.o $(B)/libordinal.a
	$(call quietly,$(CXX) $(ALL_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS))
seed_sources := tools/fuzz/seeds.cpp tests/convert/foreign_files.cpp tests/convert/training_files.cpp \
  tests/reference/random_model.cpp tests/support.cpp
build/fuzz/seeds: $(call each_object,$(seed_sources)) $(B)/libordinal.a
	$(call quietly,$(CXX) $(ALL_FLAGS) -o $@ $^ $(LIBS))

arm64: build/packages/arm64.ok  ## cross-build for arm64, run its tests under qemu, compare its logits with this machine's bit for bit
	@$(MAKE) --no-print-directory config=release all
	@$(MAKE) --no-print-directory config=arm64 build/arm64/ordinal build/arm64/tests/run
	@tools/check_arm64.sh

example: all  ## build and run tools/example_embed.cpp, a program that uses the library
	$(CXX) -std=c++20 -Wall -Wextra -Iinclude -o $(B)/example tools/example_embed.cpp $(B)/libordinal.a $(LIBS) \
	  -fopenmp $(flags_$(config))
	$(B)/example $(firstword $(models)) "Once upon a time"

bench: all  ## tokens per second of a model of GPT-2's shape, per kind of weights
	$(B)/ordinal bench --shape gpt2 --dtype f32,f16,bf16,q8_0,q4_0

# PEERS passes options on, say PEERS="--kinds q8_0 --rounds 9".
bench-peers: all build/venv/peers.ok  ## the same work in llama.cpp, transformers, ctranslate2 and onnxruntime, in one run
	build/venv/bin/python tools/bench_peers.py $(B)/ordinal $(PEERS)

cxx_files := $(wildcard include/ordinal/*.h src/*/*.h src/*/*.cpp src/*/*/*.h src/*/*/*.cpp tests/*.h tests/*.cpp \
  tests/*/*.h tests/*/*.cpp tools/*.cpp tools/fuzz/*.h tools/fuzz/*.cpp)
lint: lint-rules tidy each  ## house rules, layers, formatting, clang-tidy, every file of src/ by itself
lint-rules: build/venv/lint.ok
	@build/venv/bin/clang-format --dry-run -Werror $(cxx_files)
	@tools/check_layers.sh
	@$(MAKE) --no-print-directory config=release $(isa_objects:%=build/release/%)
	@$(MAKE) --no-print-directory config=debug $(isa_objects:%=build/debug/%)
	@tools/check_rules.sh $(foreach b,build/release build/debug,$(isa_objects:%=$(b)/%))
isa_objects := src/kernels/avx2.o src/kernels/avx512.o

# A folder at a time: nearly all of the time goes into headers.
tidy_units := $(patsubst %.cpp,%,$(filter src/kernels/%,$(lib_sources)) $(wildcard tools/*.cpp)) \
  $(addprefix build/unity/,$(sort $(foreach source,$(filter-out src/kernels/%,$(lib_sources) $(serve_sources) $(cli_sources)),$(call folder_of,$(source)))))
tidy: $(tidy_units:%=build/tidy/%.ok)
# Last in line, so that nothing else of the compiler's own headers is taken; clang knows its attribute without a word.
omp_header = -idirafter $(dir $(shell $(CXX) -print-file-name=include/omp.h)) '-D__malloc__(...)=__malloc__'
build/tidy/tools/%.ok: EXTRA_FLAGS := -Itests
build/tidy/%.ok: %.cpp $(headers) $(lib_sources) $(serve_sources) $(cli_sources) .clang-tidy build/venv/lint.ok
	@mkdir -p $(@D)
	@build/venv/bin/clang-tidy --quiet $< -- -std=c++20 -I. -Iinclude -Isrc $(omp_header) $(EXTRA_FLAGS) >$(@:.ok=.log) 2>&1 && touch $@ || \
	  { grep -v 'warnings\? \(generated\|treated\)' $(@:.ok=.log); exit 1; }

# What compiles a folder at a time must compile file by file too: each includes what it uses. Tests are left out: they
# take as long again, and whoever writes one compiles it by itself.
each: $(patsubst %.cpp,build/each/%.ok,$(filter-out src/kernels/avx%,$(lib_sources) $(serve_sources) $(cli_sources)))
build/each/%.ok: %.cpp $(headers) | build/packages/test.ok
	@mkdir -p $(@D)
	@$(CXX) $(filter-out -MMD -MP,$(FLAGS)) $(WARN) -Itests -fsyntax-only $< && touch $@

format: build/venv/lint.ok  ## apply the formatting
	build/venv/bin/clang-format -i $(cxx_files)

build/venv/%.ok: tools/%-requirements.txt | build/packages/python.ok
	@[ -x build/venv/bin/python ] || python3 -m venv build/venv
	build/venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

golden: build/venv/parity.ok  ## the golden files again, from their scripts
	build/venv/bin/python tools/make_goldens.py
	build/venv/bin/python tools/make_tokenizer_goldens.py
	build/venv/bin/python tools/make_family_goldens.py
	build/venv/bin/python tools/make_torch_goldens.py
	build/venv/bin/python tools/make_gguf_goldens.py
	build/venv/bin/python tools/make_tokenizer_json_goldens.py
	build/venv/bin/python tools/make_spm_goldens.py
	build/venv/bin/python tools/make_chat_goldens.py

pictures: all  ## the pictures of the position schemes again
	tools/make_pictures.sh $(B)/ordinal src/position/pictures

model: all  ## train the shipped model again: TRAIN=file VALID=file (hours)
	tools/make_model.sh "$(TRAIN)" "$(VALID)"

coverage: $(B)/tests/run  ## how often intervals hold a known truth: the table of src/study/README.md (minutes)
	$(B)/tests/run -ns -tc='intervals: coverage table'

study: all  ## train one small model per position scheme and compare them: TRAIN=file VALID=file (an hour)
	tools/study.sh "$(TRAIN)" "$(VALID)"

D := $(DESTDIR)$(PREFIX)
# What `ordinal manual` writes, and where it belongs.
manual_pages := man:share/man/man1/ordinal.1 bash:share/bash-completion/completions/ordinal \
  zsh:share/zsh/site-functions/_ordinal fish:share/fish/vendor_completions.d/ordinal.fish \
  systemd:lib/systemd/system/ordinal.service
kind_of = $(firstword $(subst :, ,$(1)))
path_of = $(lastword $(subst :, ,$(1)))
install: all  ## binary, manual page, library, headers and the shipped model under PREFIX=/usr/local (DESTDIR= for packagers)
	install -d $(D)/bin $(D)/lib/pkgconfig $(D)/include/ordinal $(D)/share/ordinal/models
	install -m 755 $(B)/ordinal $(D)/bin/
	install -m 644 $(B)/libordinal.a $(D)/lib/
	install -m 644 $(wildcard include/ordinal/*.h) $(D)/include/ordinal/
	$(if $(models),install -m 644 $(models) models/story.txt $(D)/share/ordinal/models/)
	@$(foreach page,$(manual_pages),install -d $(D)/$(dir $(call path_of,$(page))) && \
	  $(B)/ordinal manual $(call kind_of,$(page)) >$(D)/$(call path_of,$(page)) &&) true
	@printf '%s\n' 'prefix=$(abspath $(PREFIX))' 'Name: ordinal' 'Description: Transformer inference on the CPU' \
	  'Version: 0' 'Cflags: -I$${prefix}/include' 'Libs: -L$${prefix}/lib -lordinal $(LIBS) -fopenmp' \
	  >$(D)/lib/pkgconfig/ordinal.pc

uninstall:  ## what install put there
	rm -rf $(D)/bin/ordinal $(D)/lib/libordinal.a $(D)/lib/pkgconfig/ordinal.pc $(D)/include/ordinal $(D)/share/ordinal \
	  $(foreach page,$(manual_pages),$(D)/$(call path_of,$(page)))

clean:  ## remove build/
	rm -rf build

help:  ## this list
	@awk 'match($$0, /^[a-z0-9-]+:.*## /) { split($$0, part, ":"); printf "  %-10s %s\n", part[1], substr($$0, RLENGTH + 1) }' Makefile
