/* Lets the shared libraries run on older systems than the one that links them: glibc 2.28 and the libstdc++ of GCC 8.
 *
 * The linker takes the newest version of a symbol of the C and C++ libraries. These hidden functions take its place and
 * call the version that each later library still has. tests/runtime/check_library.cmake finds the symbols that need a row.
 */
#if defined(__x86_64__)
#define GLIBC_FIRST "GLIBC_2.2.5"
#define STAT_VERSION 1
#elif defined(__aarch64__)
#define GLIBC_FIRST "GLIBC_2.17"
#define STAT_VERSION 0
#else
#error "the first version of glibc's symbols on this architecture is not known"
#endif

#define HIDDEN __attribute__((visibility("hidden")))
#define OLD(name, symbol, version) __asm__(".symver " #name ", " symbol "@" version)

/* 2.34 moved libdl into libc; 2.29 has forms of these functions that leave errno alone. */
OLD(old_dlopen, "dlopen", GLIBC_FIRST);
OLD(old_dlsym, "dlsym", GLIBC_FIRST);
OLD(old_dlerror, "dlerror", GLIBC_FIRST);
OLD(old_exp, "exp", GLIBC_FIRST);
OLD(old_log, "log", GLIBC_FIRST);
OLD(old_pow, "pow", GLIBC_FIRST);

void* old_dlopen(const char* path, int flags);
void* old_dlsym(void* library, const char* name);
char* old_dlerror(void);
double old_exp(double x);
double old_log(double x);
double old_pow(double x, double y);

HIDDEN void* dlopen(const char* path, int flags) { return old_dlopen(path, flags); }
HIDDEN void* dlsym(void* library, const char* name) { return old_dlsym(library, name); }
HIDDEN char* dlerror(void) { return old_dlerror(); }
HIDDEN double exp(double x) { return old_exp(x); }
HIDDEN double log(double x) { return old_log(x); }
HIDDEN double pow(double x, double y) { return old_pow(x, y); }

/* Before 2.33, fstat was inline code that called this function. */
struct stat;
int __fxstat(int version, int file, struct stat* facts);
HIDDEN int fstat(int file, struct stat* facts) { return __fxstat(STAT_VERSION, file, facts); }

/* 2.32 tells libstdc++ by this variable whether its counters may do without atomic operations: never, here. */
HIDDEN char __libc_single_threaded = 0;

/* GCC 11's std::allocator calls this function. It throws like the older one. */
void __cxa_throw_bad_array_new_length(void);
HIDDEN void throw_bad_array_new_length(void) __asm__("_ZSt28__throw_bad_array_new_lengthv");
void throw_bad_array_new_length(void) { __cxa_throw_bad_array_new_length(); }

/* GCC 12's std::condition_variable::wait() differs by its noexcept alone. */
OLD(old_wait, "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", "GLIBCXX_3.4.11");
void old_wait(void* condition, void* lock);
HIDDEN void wait_for(void* condition, void* lock) __asm__("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
void wait_for(void* condition, void* lock) { old_wait(condition, lock); }

/* GCC 9's std::make_shared asks this function, without run-time type information, whether another library passes its tag.
 * None does: these libraries hide their objects. */
HIDDEN _Bool is_make_shared_tag(const void* type) __asm__("_ZNSt19_Sp_make_shared_tag5_S_eqERKSt9type_info");
_Bool is_make_shared_tag(const void* type) { return type == 0; }
