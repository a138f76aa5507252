// dispatch.cpp: which kernels run on this processor.
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "kernels/kernels.h"
#include "ordinal/error.h"

namespace ordinal {

extern const Kernels kGenericKernels;
#if defined(__x86_64__)
extern const Kernels kAvx512Kernels;
extern const Kernels kAvx2Kernels;
#endif

namespace {

// Best first.
const Kernels* const kAll[] = {
#if defined(__x86_64__)
    &kAvx512Kernels, &kAvx2Kernels,
#endif
    &kGenericKernels};

const std::vector<const Kernels*>& tables_here() {
  static const std::vector<const Kernels*> tables = [] {
    std::vector<const Kernels*> found;
    for (const Kernels* table : kAll)
      if (table->runs_here()) found.push_back(table);
    return found;
  }();
  return tables;
}

const Kernels* choose() {
  const char* wanted = std::getenv("ORDINAL_ISA");
  if (wanted == nullptr || *wanted == '\0') return tables_here().front();
  for (const Kernels* table : tables_here())
    if (std::string_view(wanted) == table->name) return table;
  throw Error("ORDINAL_ISA asks for kernels that this machine has not", joined(tables_here(), ", ", &Kernels::name),
              wanted, "unset ORDINAL_ISA to use " + std::string(tables_here().front()->name));
}

std::atomic<const Kernels*> in_use{nullptr};

}  // namespace

const Kernels& kernels() {
  const Kernels* table = in_use.load(std::memory_order_acquire);
  if (table == nullptr) {
    table = choose();
    in_use.store(table, std::memory_order_release);
  }
  return *table;
}

std::span<const Kernels* const> available_kernels() { return tables_here(); }

void use_kernels_for_test(const Kernels& table) { in_use.store(&table, std::memory_order_release); }

}  // namespace ordinal
