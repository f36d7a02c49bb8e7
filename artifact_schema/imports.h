// The only functions that CPU code of an artifact may import: those of libm, in double and in float, and those that the
// application provides. A blob's import table lists names; the runtime resolves them from here, never through the
// dynamic linker.
#pragma once

// GART_IMPORTS_1(X) calls X(name) for functions of one argument, GART_IMPORTS_2(X) for functions of two. Each exists as
// `double name(double...)` and as `float namef(float...)`.
#define GART_IMPORTS_1(X) \
  X(exp)                  \
  X(log) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(log1p)
#define GART_IMPORTS_2(X) X(pow) X(fmod)

namespace gart {

/// An import whose name begins with this text is a function of the application. The rest of the name is the operator
/// for which the application gave a gart_custom_op (runtime/include/gart/custom_op.h) when it loaded the artifact. The
/// import's address is the address of the gart_custom_op.
inline constexpr const char* kCustomImport = "custom:";

// Arrays, because the loader would have to relocate pointers.
inline constexpr char kImportNames[][8] = {
#define GART_IMPORT_NAME(name) #name, #name "f",
    GART_IMPORTS_1(GART_IMPORT_NAME) GART_IMPORTS_2(GART_IMPORT_NAME)
#undef GART_IMPORT_NAME
};

}  // namespace gart
