#include "gart/gart.h"
#include "gart/gart.hpp"

namespace gart {

const char* version() { return GART_VERSION; }

}  // namespace gart

const char* gart_version(void) { return GART_VERSION; }
