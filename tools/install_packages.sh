#!/usr/bin/env bash
# Sees to the Debian packages that a target needs: looks for their headers and commands, installs what is missing.
#
#   tools/install_packages.sh [--check] SET...      sets: build test arm64 clang mpi page python pkg-config
#   tools/install_packages.sh --clang               prints the clang++ to use
#
# --check installs nothing and fails when something is missing. CXX names the compiler whose headers count.
set -euo pipefail

has_header() { printf '#if !__has_include(<%s>)\n#error missing\n#endif\n' "$1" | ${CXX:-g++} -E -x c++ - >/dev/null 2>&1; }
has_command() { command -v "${1%% *}" >/dev/null 2>&1; }
# clang before 16 stumbles over GCC 12's <ranges>; Debian 12's plain `clang` is 14.
clang_versions=(21 20 19 18 17 16)
installed_clang() {
  for version in "${clang_versions[@]}"; do
    if has_command "clang++-$version" && [ -e "/usr/lib/llvm-$version/lib/libomp.so" ] &&
      ls /usr/lib/llvm-"$version"/lib/clang/*/lib/linux/libclang_rt.fuzzer-"$(uname -m)".a >/dev/null 2>&1; then
      echo "$version"
      return
    fi
  done
  return 1
}
# The oldest that will do: on a new system the default one, on an old one the newest there is.
offered_clang() {
  for version in $(printf '%s\n' "${clang_versions[@]}" | sort -n); do
    if apt-cache show "libomp-$version-dev" >/dev/null 2>&1; then
      echo "$version"
      return
    fi
  done
  echo "${clang_versions[-1]}"
}
if [ "${1:-}" = --clang ]; then
  version=$(installed_clang) && echo "clang++-$version" || echo clang++
  exit
fi
has_browser() { has_command chromium || has_command chromium-browser || has_command google-chrome; }
has_venv() { python3 -c 'import ensurepip, venv' >/dev/null 2>&1; }

check_only=false
missing=()
need() {  # PACKAGE CHECK ARGUMENT...: the package is missing when the check fails
  "${@:2}" || missing+=("$1")
}

for set in "$@"; do
  case $set in
    --check) check_only=true ;;
    build)
      need g++ has_command "${CXX:-g++}"
      need nlohmann-json3-dev has_header nlohmann/json.hpp
      need libpcre2-dev has_header pcre2.h
      need libutf8proc-dev has_header utf8proc.h
      need libcli11-dev has_header CLI/CLI.hpp
      need libcpp-httplib-dev has_header httplib.h
      ;;
    test) need doctest-dev has_header doctest/doctest.h ;;
    arm64)
      need g++-aarch64-linux-gnu has_command aarch64-linux-gnu-g++
      need qemu-user-static has_command qemu-aarch64-static
      ;;
    clang)
      if ! installed_clang >/dev/null; then
        version=$(offered_clang)
        missing+=("clang-$version" "libomp-$version-dev" "libclang-rt-$version-dev")
      fi
      ;;
    mpi)
      need libopenmpi-dev has_command mpicxx
      need openmpi-bin has_command mpirun
      need iproute2 has_command ip
      ;;
    page) need chromium has_browser ;;
    pkg-config) need pkg-config has_command pkg-config ;;
    python)
      need python3 has_command python3
      need python3-venv has_venv
      ;;
    *)
      echo "install_packages.sh: no set '$set'; there are: build test arm64 clang mpi page python pkg-config" >&2
      exit 2
      ;;
  esac
done
[ ${#missing[@]} -gt 0 ] || exit 0

by_hand="install the missing packages: apt-get install ${missing[*]}"
fail() {
  echo "ordinal: $1" >&2
  exit 1
}
$check_only && fail "$by_hand   (as root; or \`make packages\`)"
has_command apt-get || fail "no apt-get here; install what these Debian packages hold: ${missing[*]}"

as_root=()
if [ "$(id -u)" != 0 ]; then
  has_command sudo || fail "$by_hand   (needs root, and there is no sudo)"
  as_root=(sudo)
  [ -t 0 ] || as_root=(sudo -n)  # nobody there to type a password
  "${as_root[@]}" true 2>/dev/null || fail "$by_hand   (needs root, and sudo refuses)"
fi

exec 9<"$0" && flock 9  # one at a time, when several targets want packages
echo "ordinal: installing ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1; }
# Package lists may be absent (a fresh image) or old; only then are they worth fetching.
apt install --yes --no-install-recommends "${missing[@]}" ||
  { apt update; apt install --yes --no-install-recommends "${missing[@]}"; } || {
    tail -n 15 "$log" >&2
    fail "apt-get could not install them; $by_hand"
  }
