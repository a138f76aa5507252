#!/usr/bin/env bash
# Puts the lab's page together and writes it as a file of C++, with the Content-Security-Policy that allows just it.
#
#   tools/embed_page.sh FOLDER >lab_page.cpp      FOLDER has lab.html, lab.css and lab.js
set -euo pipefail
cd "$1"

# {style} and {script} in the page are lines of their own.
page() {
  while IFS= read -r line; do
    case $line in
      '{style}') printf '<style>' && cat lab.css && printf '</style>\n' ;;
      '{script}') printf '<script>' && cat lab.js && printf '</script>\n' ;;
      *) printf '%s\n' "$line" ;;
    esac
  done <lab.html
}
checksum() { printf '%b' "$(sha256sum "$1" | cut -c1-64 | sed 's/../\\x&/g')" | base64; }

cat <<'END'
// Written by tools/embed_page.sh: see src/serve/lab.h.
#include "serve/lab.h"

namespace ordinal::serve {

std::string_view lab_page() {
  static constexpr unsigned char kPage[] = {
END
page | od -An -v -tu1 -w32 | sed 's/ *\([0-9][0-9]*\)/\1,/g'
cat <<'END'
  };
  return {reinterpret_cast<const char*>(kPage), sizeof kPage};
}

END
printf 'std::string_view lab_policy() {\n  return "'
printf "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; connect-src 'self'; img-src data:; " \
  "$(checksum lab.js)" "$(checksum lab.css)"
printf "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\";\n}\n\n}  // namespace ordinal::serve\n"
