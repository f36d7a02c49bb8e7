/* Preloaded into the process that runs kernels: what libgart allocates (aligned_alloc) lies between pages that fault.
 *
 * WINDOWS_GUARD=after: a block ends where the next page faults; =before: it begins where the page before faults.
 * Fresh bytes are 0xFF, a NaN in every float type, so that reads of what was never written are seen in results.
 * Blocks are cut from one reservation and never used again, so that a use after free faults as well.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { page = 4096 };
static const size_t reserved = (size_t)1 << 40;
static uintptr_t begin;        /* of the reservation */
static uint32_t* pages_at;     /* of the block that begins at each page of it */
static _Atomic uintptr_t next; /* its first page that was never used */
static int before;

extern void __libc_free(void*);

static void* map(size_t size, int protection) {
  void* made = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) abort();
  return made;
}

static void reserve(void) {
  const char* side = getenv("WINDOWS_GUARD");
  before = side != NULL && strcmp(side, "before") == 0;
  pages_at = map(reserved / page * sizeof *pages_at, PROT_READ | PROT_WRITE);
  begin = (uintptr_t)map(reserved, PROT_NONE);
  next = begin;
}

void* aligned_alloc(size_t alignment, size_t size) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, reserve);
  if (alignment < 64) alignment = 64;
  size = size == 0 ? alignment : (size + alignment - 1) / alignment * alignment;
  const size_t pages = (size + page - 1) / page;
  const uintptr_t block = atomic_fetch_add(&next, (pages + 1) * page) + page;
  if (block + (pages + 1) * page > begin + reserved) return NULL;
  if (mprotect((void*)block, pages * page, PROT_READ | PROT_WRITE) != 0) return NULL;
  memset((void*)block, 0xFF, pages * page);
  pages_at[(block - begin) / page] = (uint32_t)pages;
  return (void*)(before ? block : block + (pages * page - size) / alignment * alignment);
}

void free(void* pointer) {
  const uintptr_t p = (uintptr_t)pointer;
  if (begin == 0 || p < begin || p >= begin + reserved) {
    __libc_free(pointer);
    return;
  }
  const uintptr_t block = p / page * page;
  const size_t size = (size_t)pages_at[(block - begin) / page] * page;
  mprotect((void*)block, size, PROT_NONE);
  madvise((void*)block, size, MADV_DONTNEED);
}
