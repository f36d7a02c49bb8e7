// Descriptions of fleets: JSON with devices and links. An accepted one is printed and read again.
#include "compiler/fleet/fleet.h"

#include <cstdlib>

#include "compiler/fleet/measures.h"
#include "compiler/support/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string printed;
  try {
    const gcg::Fleet fleet = gcg::parse_fleet(std::string(data, data + size), "input");
    gcg::check_measures(fleet);
    printed = gcg::print_fleet(fleet);
  } catch (const gcg::InternalError&) {
    std::abort();
  } catch (const gcg::CompileError&) {  // the file is refused
    return 0;
  }
  if (gcg::print_fleet(gcg::parse_fleet(printed, "printed")) != printed) std::abort();
  return 0;
}
