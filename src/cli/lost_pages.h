// lost_pages.h: what the program says when a file that it has mapped is cut short by another program.
#pragma once

namespace ordinal::cli {

// From now on, touching a page that a mapped file no longer has (SIGBUS) ends the program with exit status 1 and an
// error that names the file. Any other SIGBUS ends it as before.
void name_lost_pages();

}  // namespace ordinal::cli
