// Checks that our declarations of a library's functions have the same calling convention as the real ones.
#pragma once

#include <type_traits>

namespace gart::test {

/// True if both types are passed in the same way: both are pointers, both are void, or both are numbers of one size.
template <class A, class B>
constexpr bool alike() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>)
    return std::is_void_v<A> && std::is_void_v<B>;
  else if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>)
    return std::is_pointer_v<A> && std::is_pointer_v<B>;
  else
    return sizeof(A) == sizeof(B);
}

template <class... A>
struct List {};

template <class R, class... A, class Result, class... B>
constexpr bool same_call(List<A...>, Result (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B))
    return false;
  else
    return alike<R, Result>() && (alike<A, B>() && ...);
}

}  // namespace gart::test
