// Functions of a shared library, found by their names.
#pragma once

namespace gart::cuda {

/// For lists of functions X(result, name, parameters...) or X(name, parameters...): their names one after the other,
/// each ended by a zero, which costs neither pointers nor relocations. What may be missing has a '?' before it.
#define GART_SYMBOL(name) #name "\0"
#define GART_OPTIONAL_SYMBOL(name) "?" #name "\0"

/// Fills a table of functions, in the order of `names`, which an empty name ends; null where the library lacks an
/// optional one. Returns the name that it lacks otherwise; null: none.
const char* find_symbols(void* library, const char* names, void* table);

}  // namespace gart::cuda
