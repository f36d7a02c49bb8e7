// Emulates AMX's tiles on CPUs without them. A SIGILL handler executes the instructions in software, so that compiled
// kernels run in tests on any CPU with AVX-512.
#pragma once

namespace gcg::test {

/// From here on, in all threads of the process, LDTILECFG, STTILECFG, TILELOADD(T1), TILESTORED, TILEZERO, TILERELEASE,
/// TDPBUSD, TDPBSSD and TDPBF16PS work, on the CPU itself or emulated. Any other illegal instruction ends the process
/// as usual. An operand that AMX refuses also ends it; the fault is written to standard error. Returns false on other
/// architectures, whose CPUs cannot run the rest of such code. With GCC_GRAPH_EMULATE_AMX in the environment, the
/// process does not request the unit, so the emulation runs in any case.
bool provide_amx();

/// Number of instructions emulated in this thread so far; 0 on a CPU with AMX.
long emulated_amx_instructions();
/// Number of emulated instructions that a task spends on configuring and releasing tiles; 0 if the CPU executes these
/// two itself.
int emulated_per_task();
/// True if the thread's tiles are in the state that TILERELEASE leaves; always true on a CPU with the unit.
bool amx_is_released();

}  // namespace gcg::test
