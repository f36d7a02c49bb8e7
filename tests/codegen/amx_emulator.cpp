// The rules are those of Intel's Software Developer's Manual, volume 2 (each instruction's Operation section and
// exception class AMX-E1 to E6). Bochs's cpu/avx/amx.cc agrees on tiles and on TDPBF16PS.
#include "tests/codegen/amx_emulator.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <immintrin.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gcg::test {
namespace {

constexpr int kTiles = 8, kRows = 16, kRowBytes = 64;

struct Tile {
  int rows = 0, bytes = 0;  // as configured
  alignas(64) uint8_t data[kRows][kRowBytes] = {};
};

struct Tiles {
  bool configured = false;
  Tile tile[kTiles];
  long instructions = 0;
};

thread_local Tiles tiles;

[[noreturn]] void refuse(const char* what) {
  std::fprintf(stderr, "emulated AMX: %s\n", what);
  std::abort();
}

/// #UD unless the tile is configured (AMX-E3, E4).
Tile& valid(int number) {
  if (!tiles.configured) refuse("#UD, no tiles are configured");
  Tile& t = tiles.tile[number];
  if (t.rows == 0 || t.bytes == 0 || t.bytes % 4 != 0) refuse("#UD, a tile that is not configured");
  return t;
}

void release() {
  const long instructions = tiles.instructions;
  tiles = Tiles{};
  tiles.instructions = instructions;
}

/// Palette 1: bytes 16 to 31 hold each tile's bytes per row (2 bytes each), and bytes 48 to 55 each tile's number of
/// rows. All other bytes except the palette and the first row are reserved (#GP). All tiles become zero.
void load_configuration(const uint8_t* memory) {
  release();
  if (memory[0] == 0) return;
  if (memory[0] != 1) refuse("#GP, an unknown palette");
  for (int i = 1; i < 64; ++i)
    if (memory[i] != 0 && (i < 16 || (i >= 32 && i < 48) || i >= 56)) refuse("#GP, a reserved byte of a configuration");
  for (int i = 0; i < kTiles; ++i) {
    Tile& t = tiles.tile[i];
    uint16_t bytes = 0;
    std::memcpy(&bytes, memory + 16 + std::ptrdiff_t{2} * i, 2);
    t.bytes = bytes, t.rows = memory[48 + i];
    if (t.bytes > kRowBytes || t.rows > kRows) refuse("#GP, a tile that is too large");
    if ((t.bytes == 0) != (t.rows == 0)) refuse("#GP, a tile of rows or columns alone");
  }
  tiles.configured = true;
}

void store_configuration(uint8_t* memory) {
  std::memset(memory, 0, 64);
  if (!tiles.configured) return;
  memory[0] = 1;
  for (int i = 0; i < kTiles; ++i) {
    const auto bytes = static_cast<uint16_t>(tiles.tile[i].bytes);
    std::memcpy(memory + 16 + std::ptrdiff_t{2} * i, &bytes, 2);
    memory[48 + i] = static_cast<uint8_t>(tiles.tile[i].rows);
  }
}

/// Rows and columns beyond the configured ones become zero.
void load(Tile& t, const uint8_t* memory, int64_t stride) {
  std::memset(t.data, 0, sizeof t.data);
  for (int r = 0; r < t.rows; ++r) std::memcpy(t.data[r], memory + r * stride, static_cast<size_t>(t.bytes));
}

void store(const Tile& t, uint8_t* memory, int64_t stride) {
  for (int r = 0; r < t.rows; ++r) std::memcpy(memory + r * stride, t.data[r], static_cast<size_t>(t.bytes));
}

template <class T>
T at(const Tile& t, int row, int index) {
  T value;
  std::memcpy(&value, t.data[row] + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

/// #UD unless sums are m x n, a is m x k and b is k x n, and all differ.
void check_shapes(const Tile& sums, const Tile& a, const Tile& b) {
  if (&sums == &a || &sums == &b || &a == &b) refuse("#UD, a product with a tile that occurs twice");
  if (sums.bytes != b.bytes || sums.rows != a.rows || a.bytes / 4 != b.rows)
    refuse("#UD, a product of tiles whose shapes do not fit");
}

/// DPBD: adds four exact products of bytes to the sum, which wraps around.
template <class Left, class Right>
void multiply_bytes(Tile& sums, const Tile& a, const Tile& b) {
  check_shapes(sums, a, b);
  for (int m = 0; m < sums.rows; ++m)
    for (int n = 0; n < sums.bytes / 4; ++n) {
      auto sum = at<uint32_t>(sums, m, n);
      for (int k = 0; k < b.rows; ++k)
        for (int i = 0; i < 4; ++i)
          sum += static_cast<uint32_t>(int32_t{at<Left>(a, m, 4 * k + i)} * int32_t{at<Right>(b, k, 4 * n + i)});
      std::memcpy(sums.data[m] + std::ptrdiff_t{4} * n, &sum, 4);
    }
}

__m128 widened(uint16_t half) { return _mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(uint32_t{half} << 16))); }

/// TDPBF16PS sums the even products over k, and the odd ones separately, each by multiply-adds from zero on. It adds
/// the two sums, then adds the result to the old sum. All roundings are to nearest even. Denormal inputs and outputs
/// become zero, whatever MXCSR says, and no exception is raised.
__attribute__((target("fma"))) void multiply_pairs(Tile& sums, const Tile& a, const Tile& b) {
  check_shapes(sums, a, b);
  constexpr unsigned kAllMasked = 0x1f80, kFlushed = 0x8040;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(kAllMasked | kFlushed);
  for (int m = 0; m < sums.rows; ++m)
    for (int n = 0; n < sums.bytes / 4; ++n) {
      __m128 even = _mm_setzero_ps(), odd = _mm_setzero_ps();
      for (int k = 0; k < b.rows; ++k) {
        even = _mm_fmadd_ss(widened(at<uint16_t>(a, m, 2 * k)), widened(at<uint16_t>(b, k, 2 * n)), even);
        odd = _mm_fmadd_ss(widened(at<uint16_t>(a, m, 2 * k + 1)), widened(at<uint16_t>(b, k, 2 * n + 1)), odd);
      }
      const __m128 sum = _mm_add_ss(_mm_set_ss(at<float>(sums, m, n)), _mm_add_ss(even, odd));
      const float value = _mm_cvtss_f32(sum);
      std::memcpy(sums.data[m] + std::ptrdiff_t{4} * n, &value, 4);
    }
  _mm_setcsr(before);
}

/// A decoded VEX instruction of map 0F38.
struct Instruction {
  uint8_t opcode = 0;
  int prefix = 0;  // 0 none, 1 66, 2 F3, 3 F2
  int reg = 0, rm = 0, vvvv = 0;
  bool memory = false, indexed = false;
  uint8_t* address = nullptr;
  int64_t stride = 0;
  int64_t bytes = 0;  // length of the whole instruction
};

int64_t general_register(const ucontext_t& context, int number) {
  constexpr int kOrder[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                            REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return context.uc_mcontext.gregs[kOrder[number]];
}

/// Address and scaled index of a memory operand; the index of a tile is its stride.
void decode_memory(const ucontext_t& context, const uint8_t* code, int mod, bool x, bool b, Instruction& i) {
  const int rm = code[i.bytes - 1] & 7;
  int64_t base = 0;
  bool wide = mod == 2;
  if (rm == 4) {
    const uint8_t sib = code[i.bytes++];
    const int index = (sib >> 3 & 7) | (x ? 8 : 0), lowest = sib & 7;
    i.indexed = true;
    if (index != 4) i.stride = general_register(context, index) * (int64_t{1} << (sib >> 6));
    if (lowest == 5 && mod == 0)
      wide = true;
    else
      base = general_register(context, lowest | (b ? 8 : 0));
  } else if (rm == 5 && mod == 0) {
    wide = true;  // the displacement is relative to the next instruction
  } else {
    base = general_register(context, rm | (b ? 8 : 0));
  }
  int64_t displacement = 0;
  if (mod == 1) displacement = static_cast<int8_t>(code[i.bytes++]);  // NOLINT: the sign extension is intended
  if (wide) {
    int32_t value = 0;
    std::memcpy(&value, code + i.bytes, 4);
    i.bytes += 4;
    displacement = value;
  }
  if (rm == 5 && mod == 0) base = static_cast<int64_t>(reinterpret_cast<uintptr_t>(code)) + i.bytes;
  i.address = reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(base + displacement));
}

/// Decodes a VEX instruction of map 0F38 that may use tiles. Returns false for any other instruction.
bool decode(const ucontext_t& context, const uint8_t* code, Instruction& i) {
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2) return false;  // three bytes of VEX, map 0F38
  if ((code[2] & 0x84) != 0) return false;                     // W0, 128 bits
  const bool r = (code[1] & 0x80) == 0, x = (code[1] & 0x40) == 0, b = (code[1] & 0x20) == 0;
  i.vvvv = ~code[2] >> 3 & 15;
  i.prefix = code[2] & 3;
  i.opcode = code[3];
  const uint8_t modrm = code[4];
  const int mod = modrm >> 6;
  i.reg = modrm >> 3 & 7;
  i.rm = modrm & 7;
  i.bytes = 5;
  if (r || (mod == 3 && b) || i.vvvv > 7) return false;  // there are eight tiles
  i.memory = mod != 3;
  if (i.memory) decode_memory(context, code, mod, x, b, i);
  return true;
}

bool execute_configuration(const Instruction& i) {
  if (i.memory) {
    if (i.reg != 0 || i.vvvv != 0 || i.prefix > 1) return false;
    i.prefix == 0 ? load_configuration(i.address + i.stride) : store_configuration(i.address + i.stride);
    return true;
  }
  if (i.prefix == 0 && i.reg == 0 && i.rm == 0) return release(), true;
  if (i.prefix != 3 || i.rm != 0) return false;
  Tile& t = valid(i.reg);  // TILEZERO
  std::memset(t.data, 0, sizeof t.data);
  return true;
}

bool execute(const Instruction& i) {
  if (i.opcode == 0x49) return execute_configuration(i);
  if (i.opcode == 0x4b) {
    if (!i.memory || !i.indexed || i.prefix == 0) return false;
    i.prefix == 2 ? store(valid(i.reg), i.address, i.stride) : load(valid(i.reg), i.address, i.stride);
    return true;
  }
  if (i.memory) return false;
  const auto product = [&](void (*multiply)(Tile&, const Tile&, const Tile&)) {
    multiply(valid(i.reg), valid(i.rm), valid(i.vvvv));
    return true;
  };
  if (i.opcode == 0x5c && i.prefix == 2) return product(multiply_pairs);
  if (i.opcode == 0x5e && i.prefix == 1) return product(multiply_bytes<uint8_t, int8_t>);
  if (i.opcode == 0x5e && i.prefix == 3) return product(multiply_bytes<int8_t, int8_t>);
  return false;
}

/// A CPU with AMX executes LDTILECFG and TILERELEASE itself, even if the system does not permit tiles. Their effect is
/// in the state that the signal saved.
void adopt_configuration(const ucontext_t& context) {
  constexpr unsigned kStateLeaf = 0xd, kConfiguration = 17;
  unsigned size = 0, offset = 0, flags = 0, unused = 0;
  __get_cpuid_count(kStateLeaf, kConfiguration, &size, &offset, &flags, &unused);
  const auto* saved = reinterpret_cast<const uint8_t*>(context.uc_mcontext.fpregs);
  uint64_t present = 0;
  std::memcpy(&present, saved + sizeof *context.uc_mcontext.fpregs, sizeof present);
  static thread_local uint8_t known[64] = {};
  const uint8_t none[64] = {};
  const uint8_t* now = (present >> kConfiguration & 1) != 0 && size == sizeof known ? saved + offset : none;
  if (std::memcmp(known, now, sizeof known) == 0) return;
  std::memcpy(known, now, sizeof known);
  load_configuration(known);
}

bool configures_itself = false;

void on_illegal_instruction(int, siginfo_t*, void* context_pointer) {
  auto& context = *static_cast<ucontext_t*>(context_pointer);
  if (configures_itself) adopt_configuration(context);
  greg_t& next = context.uc_mcontext.gregs[REG_RIP];
  Instruction instruction;
  if (decode(context, reinterpret_cast<const uint8_t*>(next), instruction) && execute(instruction)) {
    ++tiles.instructions;
    next += instruction.bytes;
    return;
  }
  signal(SIGILL, SIG_DFL);  // the signal is raised again at the same instruction
}

/// True if the CPU has tiles and Linux lets this process use them.
bool has_unit() {
  constexpr long kArchRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kArchRequestPermission, kTileData) == 0;
}

}  // namespace

bool provide_amx() {
  static const bool provided = [] {
    const bool emulate = std::getenv("GCC_GRAPH_EMULATE_AMX") != nullptr;
    if (!emulate && has_unit()) return true;
    constexpr unsigned kTilesInLeaf7 = 1U << 24;
    unsigned a = 0, b = 0, c = 0, d = 0;
    configures_itself = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kTilesInLeaf7) != 0;
    struct sigaction action = {};
    action.sa_sigaction = on_illegal_instruction;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    return sigaction(SIGILL, &action, nullptr) == 0;
  }();
  return provided;
}

long emulated_amx_instructions() { return tiles.instructions; }
bool amx_is_released() { return !tiles.configured || configures_itself; }
int emulated_per_task() { return configures_itself ? 0 : 2; }

}  // namespace gcg::test

#else

namespace gcg::test {

bool provide_amx() { return false; }
long emulated_amx_instructions() { return 0; }
bool amx_is_released() { return true; }
int emulated_per_task() { return 0; }

}  // namespace gcg::test

#endif
