# Builds Ordinal, tests it and installs it. `make help` lists the targets.
# config=release|debug|sanitize|thread picks flags and the folder build/$(config), so switching never needs `clean`.

config ?= release
CXX ?= g++
AR ?= ar
PREFIX ?= /usr/local
B := build/$(config)

# -ffp-contract=off: a multiply and an add are fused only where the source says so; the bits depend on it.
FLAGS := -std=c++20 -ffp-contract=off -fno-strict-aliasing -pthread -MMD -MP -Iinclude -Isrc
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror
OMP := -fopenmp
flags_release := -O2 -g1 -DNDEBUG
flags_debug := -O0 -g
# Address and undefined behaviour together; -O1 keeps the suite within minutes.
flags_sanitize := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
# GCC's OpenMP runtime is opaque to the thread sanitizer, so this build runs parallel_for on plain threads.
flags_thread := -O1 -g -fsanitize=thread
ifeq ($(config),thread)
OMP :=
endif
ifeq ($(flags_$(config)),)
$(error config=$(config) is not one of release, debug, sanitize, thread)
endif
ALL_FLAGS = $(FLAGS) $(WARN) $(OMP) $(flags_$(config)) $(EXTRA_FLAGS)
LIBS := -lpcre2-8

lib_sources := $(filter-out src/cli/%,$(wildcard src/*/*.cpp))
cli_sources := $(wildcard src/cli/*.cpp)
test_sources := $(wildcard tests/*.cpp tests/*/*.cpp)
objects = $(patsubst %.cpp,$(B)/%.o,$(1))

.DEFAULT_GOAL := all
.PHONY: all
all: $(B)/ordinal  ## build the command line tool, build/$(config)/ordinal

$(B)/libordinal.a: $(call objects,$(lib_sources))
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/ordinal: $(call objects,$(cli_sources)) $(B)/libordinal.a
	$(CXX) $(ALL_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/tests/run: $(call objects,$(test_sources)) $(B)/libordinal.a
	$(CXX) $(ALL_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# Each instruction set has one object of its own; nothing else gets such flags (src/kernels/README.md).
MACHINE := $(firstword $(subst -, ,$(shell $(CXX) -dumpmachine)))
$(B)/src/kernels/generic.o: EXTRA_FLAGS += -O3
ifeq ($(MACHINE),x86_64)
$(B)/src/kernels/avx2.o: EXTRA_FLAGS += -O3 -mavx2 -mfma -mf16c
$(B)/src/kernels/avx512.o: EXTRA_FLAGS += -O3 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mf16c
endif

$(B)/%.o: %.cpp
	@mkdir -p $(@D)
	$(CXX) $(ALL_FLAGS) -c -o $@ $<

-include $(patsubst %.o,%.d,$(call objects,$(lib_sources) $(cli_sources) $(test_sources)))
