#!/usr/bin/env bash
# Unpacks the arm64 build of a Debian package into a folder, for linking. Changes nothing in the system, needs no root:
# apt-get works on lists and a cache of its own, so that arm64 need not become an architecture of this machine.
#
#   tools/fetch_arm64_library.sh FOLDER PACKAGE
set -euo pipefail

[ $# = 2 ] || { echo "usage: tools/fetch_arm64_library.sh FOLDER PACKAGE" >&2; exit 2; }
folder=$(realpath -m "$1")
package=$2
apt=$folder/apt
rm -rf "$apt"
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"

private_apt() {
  apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= \
    -o Dir::State="$apt" -o Dir::State::Lists="$apt/lists" -o Dir::State::status="$apt/status" \
    -o Dir::Cache="$apt/cache" -o Acquire::Languages=none "$@" >>"$apt/log" 2>&1
}
# Sources other than Debian's may have nothing for arm64 or be out of reach; what counts is whether the package comes.
private_apt update || true
if ! (cd "$apt" && private_apt download "$package"); then
  tail -n 5 "$apt/log" >&2
  echo "fetch_arm64_library.sh: no arm64 build of $package from the package sources of this system" >&2
  exit 1
fi
dpkg-deb -x "$apt"/"$package"_*.deb "$folder"
rm -rf "$apt"
