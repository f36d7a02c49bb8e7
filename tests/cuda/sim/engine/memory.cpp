#include "tests/cuda/sim/engine/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gart_sim {
namespace {

#ifndef GART_SIM_ADDRESS_BITS
#define GART_SIM_ADDRESS_BITS 40
#endif
constexpr size_t kMostReserved = size_t{1} << GART_SIM_ADDRESS_BITS;
constexpr size_t kPage = 4096;
constexpr size_t kGuard = 4096;
constexpr unsigned char kPoison = 0xff;  // NaN in every float type, -1 in every integer type.
constexpr unsigned char kGuardByte = 0xfb;

size_t rounded_up(size_t x, size_t to) { return (x + to - 1) / to * to; }

unsigned char* as_pointer(uint64_t address) { return reinterpret_cast<unsigned char*>(address); }

std::string hex(uint64_t x) {
  char text[32];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(x));
  return text;
}

void release(Marks& marks) {
  ::free(marks.bits);
  ::free(marks.chunks);
  marks = {};
}

void make(Marks& marks, size_t bytes) {
  if (marks.bits) return;
  marks.bits = static_cast<unsigned char*>(calloc(bytes / 8 + 64, 1));
  marks.chunks = static_cast<unsigned char*>(calloc(bytes / kChunk + 2, 1));
}

uint64_t load64(const unsigned char* p) {
  uint64_t x;
  memcpy(&x, p, 8);
  return x;
}
void store64(unsigned char* p, uint64_t x) { memcpy(p, &x, 8); }

// Appends the set bits of `marks` as addresses and clears them.
void collect(Marks& marks, const Allocation& allocation, std::vector<Range>& ranges) {
  if (!marks.bits) return;
  for (size_t chunk = 0; chunk <= allocation.bytes / kChunk; ++chunk) {
    if (!marks.chunks[chunk]) continue;
    marks.chunks[chunk] = 0;
    for (size_t byte = chunk * (kChunk / 8); byte < (chunk + 1) * (kChunk / 8) && byte * 8 < allocation.bytes;
         byte += 8) {
      const uint64_t word = load64(marks.bits + byte);
      store64(marks.bits + byte, 0);
      for (unsigned bit = 0; bit < 64;) {
        const uint64_t rest = word >> bit;
        if (!rest) break;
        bit += static_cast<unsigned>(__builtin_ctzll(rest));
        const uint64_t run = word >> bit;
        const unsigned length = ~run ? static_cast<unsigned>(__builtin_ctzll(~run)) : 64 - bit;
        const uint64_t begin = allocation.begin + byte * 8 + bit;
        if (!ranges.empty() && ranges.back().end == begin) {
          ranges.back().end += length;
        } else {
          ranges.push_back({begin, begin + length});
        }
        bit += length;
        if (bit >= 64) break;
      }
    }
  }
}

// Adds one range to sorted, disjoint ranges.
void add(std::vector<Range>& ranges, const Range& range) {
  auto first = std::lower_bound(ranges.begin(), ranges.end(), range.begin,
                                [](const Range& r, uint64_t begin) { return r.end < begin; });
  auto last = first;
  Range all = range;
  for (; last != ranges.end() && last->begin <= all.end; ++last) {
    all = {std::min(all.begin, last->begin), std::max(all.end, last->end)};
  }
  if (first == last) {
    ranges.insert(first, all);
  } else {
    *first = all;
    ranges.erase(first + 1, last);
  }
}

// The first address of `range` that is outside all the ranges, or 0.
uint64_t first_missing(const std::vector<Range>& ranges, const Range& range) {
  const auto at = std::lower_bound(ranges.begin(), ranges.end(), range.begin,
                                   [](const Range& r, uint64_t begin) { return r.end <= begin; });
  if (at == ranges.end() || at->begin > range.begin) return range.begin;
  return at->end < range.end ? at->end : 0;
}

}  // namespace

uint64_t first_overlap(const std::vector<Range>& a, const std::vector<Range>& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint64_t begin = std::max(a[i].begin, b[j].begin);
    if (begin < std::min(a[i].end, b[j].end)) return begin;
    a[i].end < b[j].end ? ++i : ++j;
  }
  return 0;
}

void merge(std::vector<Range>& into, const std::vector<Range>& ranges) {
  if (ranges.empty()) return;
  into.insert(into.end(), ranges.begin(), ranges.end());
  std::sort(into.begin(), into.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  size_t last = 0;
  for (size_t i = 1; i < into.size(); ++i) {
    if (into[i].begin <= into[last].end) {
      into[last].end = std::max(into[last].end, into[i].end);
    } else {
      into[++last] = into[i];
    }
  }
  into.resize(last + 1);
}

DeviceMemory& DeviceMemory::get() {
  static auto* memory = new DeviceMemory;
  return *memory;
}

DeviceMemory::DeviceMemory() {
  for (reserved_ = kMostReserved; reserved_ >= size_t{1} << 30; reserved_ /= 2) {
    void* window = mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (window == MAP_FAILED) continue;
    base_ = next_ = reinterpret_cast<uint64_t>(window);
    next_host_ = base_ + reserved_ / 2;
    break;
  }
  if (!base_) abort();
  const char* capacity = getenv("GART_SIM_MEMORY");
  capacity_ = capacity ? strtoull(capacity, nullptr, 0) : size_t{16} << 30;
  const char* is_protected = getenv("GART_SIM_PROTECT");
  is_protected_ = !is_protected || *is_protected != '0';
}

void DeviceMemory::open() {
  if (open_++ == 0 && next_ > base_) mprotect(as_pointer(base_), next_ - base_, PROT_READ | PROT_WRITE);
}

void DeviceMemory::close() {
  if (--open_ == 0 && is_protected_ && next_ > base_) mprotect(as_pointer(base_), next_ - base_, PROT_NONE);
}

uint64_t DeviceMemory::allocate(int device, size_t bytes) {
  const bool on_host = device == kHost;
  uint64_t& next = on_host ? next_host_ : next_;
  const uint64_t end = base_ + (on_host ? reserved_ : reserved_ / 2);
  const size_t room = rounded_up(bytes + kGuard, kPage);
  if (!on_host && bytes > capacity_ - std::min(capacity_, used(device))) return 0;
  if (bytes > reserved_ || room + kGuard > end - next) return 0;
  const uint64_t begin = next + kGuard;
  next = begin + room;
  mprotect(as_pointer(begin - kGuard), room + kGuard, PROT_READ | PROT_WRITE);
  memset(as_pointer(begin - kGuard), kGuardByte, kGuard);
  memset(as_pointer(begin), kPoison, bytes);
  memset(as_pointer(begin + bytes), kGuardByte, room - bytes);
  if (!on_host && !open_ && is_protected_) mprotect(as_pointer(begin - kGuard), room + kGuard, PROT_NONE);
  Allocation& allocation = live_[begin];
  allocation.begin = begin;
  allocation.bytes = bytes;
  allocation.device = device;
  return begin;
}

bool DeviceMemory::free(uint64_t address) {
  const auto it = live_.find(address);
  if (it == live_.end()) return false;
  for (Marks& marks : it->second.block) release(marks);
  for (Marks& marks : it->second.launch) release(marks);
  const size_t room = rounded_up(it->second.bytes + kGuard, kPage);
  madvise(as_pointer(address), room, MADV_DONTNEED);
  if (it->second.device == kHost) mprotect(as_pointer(address), room, PROT_NONE);
  freed_[address] = it->second.bytes;
  live_.erase(it);
  return true;
}

void DeviceMemory::free_all(int device) {
  std::vector<uint64_t> addresses;
  for (const auto& [address, allocation] : live_) {
    if (allocation.device == device) addresses.push_back(address);
  }
  for (const uint64_t address : addresses) free(address);
}

Allocation* DeviceMemory::find(uint64_t address) {
  auto it = live_.upper_bound(address);
  if (it == live_.begin()) return nullptr;
  --it;
  return address - it->first < it->second.bytes ? &it->second : nullptr;
}

bool DeviceMemory::contains(uint64_t address, size_t bytes) {
  const Allocation* allocation = find(address);
  return allocation && bytes <= allocation->bytes - (address - allocation->begin);
}

std::string DeviceMemory::describe(uint64_t address) const {
  const auto near = [address](uint64_t begin, size_t bytes, const char* state) {
    const std::string what = "the " + std::string(state) + std::to_string(bytes) + " bytes at " + hex(begin);
    if (address >= begin + bytes) return std::to_string(address - begin - bytes) + " bytes past the end of " + what;
    return "at byte " + std::to_string(address - begin) + " of " + what;
  };
  auto live = live_.upper_bound(address);
  if (live != live_.end() && live->first - address <= kGuard) {
    return std::to_string(live->first - address) + " bytes before the " + std::to_string(live->second.bytes) +
           " bytes at " + hex(live->first);
  }
  auto freed = freed_.upper_bound(address);
  const bool has_live = live != live_.begin(), has_freed = freed != freed_.begin();
  if (has_freed && (!has_live || std::prev(freed)->first > std::prev(live)->first)) {
    return near(std::prev(freed)->first, std::prev(freed)->second, "freed ");
  }
  if (has_live) return near(std::prev(live)->first, std::prev(live)->second.bytes, "");
  return "at " + hex(address) + ", where nothing is allocated";
}

size_t DeviceMemory::used(int device) const {
  size_t sum = 0;
  for (const auto& [address, allocation] : live_) sum += allocation.device == device ? allocation.bytes : 0;
  return sum;
}

size_t DeviceMemory::live(int device) const {
  return static_cast<size_t>(
      std::count_if(live_.begin(), live_.end(), [device](const auto& entry) { return entry.second.device == device; }));
}

bool DeviceMemory::touch(uint64_t address, size_t bytes, Access access, State& state) {
  Allocation* allocation = find(address);
  if (!allocation || bytes > allocation->bytes - (address - allocation->begin)) return false;
  Marks& marks = allocation->block[static_cast<unsigned>(access)];
  make(marks, allocation->bytes);
  if (!allocation->is_touched) {
    allocation->is_touched = true;
    touched_.push_back(allocation);
  }
  const size_t offset = address - allocation->begin;
  for (size_t i = offset; i < offset + bytes; ++i) marks.bits[i / 8] |= static_cast<unsigned char>(1u << i % 8);
  for (size_t chunk = offset / kChunk; chunk <= (offset + bytes - 1) / kChunk; ++chunk) marks.chunks[chunk] = 1;
  if (access == Access::read) state.read = {allocation->begin, allocation->bytes, marks.bits, marks.chunks};
  if (access == Access::write) state.written = {allocation->begin, allocation->bytes, marks.bits, marks.chunks};
  return true;
}

// Adds the block's marks to the launch's and clears them. Returns the address of a racing byte, or 0.
uint64_t DeviceMemory::merge(Allocation& allocation) {
  uint64_t race = 0;
  for (int access = 0; access < 3; ++access) {
    if (allocation.block[access].bits) make(allocation.launch[access], allocation.bytes);
  }
  const size_t chunks = allocation.bytes / kChunk + 1;
  // Which accesses of other blocks conflict with this block's accesses: all with a write, writes and atomics with a
  // read, reads and writes with an atomic.
  constexpr bool conflicts[3][3] = {{false, true, true}, {true, true, true}, {true, true, false}};
  const auto word_of = [](const Marks& marks, size_t byte) { return marks.bits ? load64(marks.bits + byte) : 0; };
  const auto for_each_word = [&](int access, const auto& visit) {
    const Marks& marks = allocation.block[access];
    for (size_t chunk = 0; marks.bits && chunk < chunks; ++chunk) {
      if (!marks.chunks[chunk]) continue;
      for (size_t byte = chunk * (kChunk / 8); byte < (chunk + 1) * (kChunk / 8) && byte * 8 < allocation.bytes;
           byte += 8) {
        if (const uint64_t word = load64(marks.bits + byte)) visit(byte, word, chunk);
      }
    }
  };
  for (int access = 0; access < 3 && !race; ++access) {
    for_each_word(access, [&](size_t byte, uint64_t word, size_t) {
      uint64_t others = 0;
      for (int other = 0; other < 3; ++other) {
        if (conflicts[access][other]) others |= word_of(allocation.launch[other], byte);
      }
      if (const uint64_t both = word & others; both && !race) {
        const uint64_t address = allocation.begin + byte * 8 + static_cast<unsigned>(__builtin_ctzll(both));
        if (address < exempt_.begin || address >= exempt_.end) race = address;
      }
    });
  }
  for (int access = 0; access < 3; ++access) {
    Marks& marks = allocation.block[access];
    for_each_word(access, [&](size_t byte, uint64_t word, size_t chunk) {
      unsigned char* all = allocation.launch[access].bits + byte;
      store64(all, load64(all) | word);
      store64(marks.bits + byte, 0);
      allocation.launch[access].chunks[chunk] = 1;
    });
    if (marks.bits) memset(marks.chunks, 0, chunks);
  }
  return race;
}

uint64_t DeviceMemory::end_block() {
  uint64_t race = 0;
  for (Allocation* allocation : touched_) {
    const uint64_t found = merge(*allocation);
    if (!race) race = found;
  }
  return race;
}

Footprint DeviceMemory::end_launch() {
  Footprint footprint;
  std::sort(touched_.begin(), touched_.end(),
            [](const Allocation* a, const Allocation* b) { return a->begin < b->begin; });
  for (Allocation* allocation : touched_) {
    collect(allocation->launch[0], *allocation, footprint.reads);
    Marks& atomics = allocation->launch[2];
    if (atomics.bits) {
      make(allocation->launch[1], allocation->bytes);
      for (size_t chunk = 0; chunk <= allocation->bytes / kChunk; ++chunk) {
        if (!atomics.chunks[chunk]) continue;
        allocation->launch[1].chunks[chunk] = 1;
        for (size_t byte = chunk * (kChunk / 8); byte < (chunk + 1) * (kChunk / 8) && byte * 8 < allocation->bytes;
             ++byte) {
          allocation->launch[1].bits[byte] |= atomics.bits[byte];
          atomics.bits[byte] = 0;
        }
        atomics.chunks[chunk] = 0;
      }
    }
    collect(allocation->launch[1], *allocation, footprint.writes);
    allocation->is_touched = false;
  }
  touched_.clear();
  return footprint;
}

uint64_t DeviceMemory::note(const Footprint& footprint) {
  for (const Range& range : footprint.writes) {
    if (Allocation* allocation = find(range.begin)) add(allocation->defined, range);
  }
  for (const Range& range : footprint.reads) {
    const Allocation* allocation = find(range.begin);
    if (!allocation || allocation->device == kHost) continue;
    if (const uint64_t missing = first_missing(allocation->defined, range)) return missing;
  }
  return 0;
}

void DeviceMemory::define_everything() {
  for (auto& [begin, allocation] : live_) add(allocation.defined, {begin, begin + allocation.bytes});
}

std::string DeviceMemory::broken_guard() const {
  for (const auto& [begin, allocation] : live_) {
    const unsigned char* end = as_pointer(begin + allocation.bytes);
    const size_t room = rounded_up(allocation.bytes + kGuard, kPage) - allocation.bytes;
    for (size_t i = 0; i < room; ++i) {
      if (end[i] != kGuardByte) return "the byte " + describe(begin + allocation.bytes + i) + " was written";
    }
    const unsigned char* before = as_pointer(begin - kGuard);
    for (size_t i = 0; i < kGuard; ++i) {
      if (before[i] != kGuardByte) {
        return "the byte " + std::to_string(kGuard - i) + " before the " + std::to_string(allocation.bytes) +
               " bytes at " + hex(begin) + " was written";
      }
    }
  }
  return "";
}

}  // namespace gart_sim
