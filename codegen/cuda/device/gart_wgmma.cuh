// sm_90a: a warpgroup (four warps) has the tensor cores multiply tiles as they lie in shared memory, while its threads go on.
// One PTX instruction each. Sums of 64 x 8n: thread t of the warpgroup has of every 8 columns what C of m16n8 gives lane t % 32,
// for the 16 rows of warp t / 32.
//
// Order: what threads copied to shared memory is seen after gart_fence_proxy_async by the copying thread and a barrier; sums
// that were written or read otherwise, after gart_wgmma_fence; between a product and the wait for its group nobody may touch
// its sums or change its tiles.
#pragma once

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

#ifndef GART_SHIM
inline void gart_fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
inline void gart_wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
inline void gart_wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most `Left` groups are under way.
template <int Left>
void gart_wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
}
/// Keeps the compiler from moving uses of the sums to before this point: no instruction.
template <int Count>
void gart_wgmma_hold(float (&sums)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

/// Says where a tile lies whose lines are 128 bytes with swizzled 16-byte chunks, 1024-aligned but for the step's offset.
inline unsigned long long gart_wgmma_descriptor(const void* tile, int leading_bytes, int stride_bytes) {
  const unsigned int address = (unsigned int)__cvta_generic_to_shared(tile);
  return (address >> 4 & 0x3fffu) | (unsigned long long)(leading_bytes >> 4) << 16 |
         (unsigned long long)(stride_bytes >> 4) << 32 | 1ull << 62;
}

#define GART_NAMES_32                                                                                               \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29," \
  "%30,%31"
#define GART_NAMES_64                                                                                              \
  GART_NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55," \
                "%56,%57,%58,%59,%60,%61,%62,%63"
#define GART_NAMES_128                                                                                              \
  GART_NAMES_64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87," \
                "%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109," \
                "%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define GART_SUMS_8(i)                                                                                               \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define GART_SUMS_32(i) GART_SUMS_8(i), GART_SUMS_8(i + 8), GART_SUMS_8(i + 16), GART_SUMS_8(i + 24)
#define GART_SUMS_64(i) GART_SUMS_32(i), GART_SUMS_32(i + 32)
#define GART_SUMS_128(i) GART_SUMS_64(i), GART_SUMS_64(i + 64)

/// d += left * right, 64 x columns over 16 depths; an operand is "across" if its lines do not run along the depth.
#define GART_WGMMA(type, columns, count, left, right, across_left, across_right)                                        \
  template <bool LeftAcross, bool RightAcross>                                                                           \
  void gart_wgmma_##type(float(&d)[count], unsigned long long a, unsigned long long b) {                                \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.m64n" columns "k16.f32." #type "." #type \
                 " {" GART_NAMES_##count "}, " left ", " right ", p, 1, 1, " across_left ", " across_right ";\n}\n"      \
                 : GART_SUMS_##count(0)                                                                                  \
                 : "l"(a), "l"(b), "n"(LeftAcross ? 1 : 0), "n"(RightAcross ? 1 : 0));                                   \
  }
GART_WGMMA(f16, "64", 32, "%32", "%33", "%34", "%35")
GART_WGMMA(f16, "128", 64, "%64", "%65", "%66", "%67")
GART_WGMMA(f16, "256", 128, "%128", "%129", "%130", "%131")
GART_WGMMA(bf16, "64", 32, "%32", "%33", "%34", "%35")
GART_WGMMA(bf16, "128", 64, "%64", "%65", "%66", "%67")
GART_WGMMA(bf16, "256", 128, "%128", "%129", "%130", "%131")
#undef GART_WGMMA
#endif

#endif
