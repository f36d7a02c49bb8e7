// Looks up functions of a shared library by name.
#pragma once

namespace gart::cuda {

/// For lists of functions X(result, name, parameters...) or X(name, parameters...): their names one after the other,
/// each ended by a zero. This needs neither pointers nor relocations. The name of an optional function begins with '?'.
#define GART_SYMBOL(name) #name "\0"
#define GART_OPTIONAL_SYMBOL(name) "?" #name "\0"

/// Fills a table of functions, in the order of `names`, which an empty name ends. An optional function that the library
/// lacks becomes null. Returns the first other name that it lacks; null if none.
const char* find_symbols(void* library, const char* names, void* table);

}  // namespace gart::cuda
