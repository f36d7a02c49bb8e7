// Vectors of elements in memory, and dynamic shared memory.
#pragma once

/// `Count` neighbouring elements that one access reads or writes: at most 16 bytes, aligned to their size.
template <class T, int Count>
struct alignas(sizeof(T) * Count) gart_vector {
  T at[Count];
};

template <int Count, class T>
gart_vector<T, Count> gart_load(const T* from) {
  return *reinterpret_cast<const gart_vector<T, Count>*>(from);
}
template <int Count, class T>
void gart_store(T* to, const gart_vector<T, Count>& v) {
  *reinterpret_cast<gart_vector<T, Count>*>(to) = v;
}
template <int Count, class T>
gart_vector<T, Count> gart_fill(T value) {
  gart_vector<T, Count> v;
#pragma unroll
  for (int i = 0; i < Count; ++i) v.at[i] = value;
  return v;
}

/// Declares the dynamic shared memory of the launch, aligned to 1024 bytes, as `unsigned char name[]`.
#ifndef GART_SHARED
#define GART_SHARED(name) extern __shared__ __align__(1024) unsigned char name[]
#endif
