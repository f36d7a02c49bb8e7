// AMX's tiles on CPUs without them: instructions that raise SIGILL are carried out in software, so that compiled
// kernels run in tests wherever AVX-512 does.
#pragma once

namespace gcg::test {

/// From here on, in all threads of the process, LDTILECFG, STTILECFG, TILELOADD(T1), TILESTORED, TILEZERO, TILERELEASE,
/// TDPBUSD, TDPBSSD and TDPBF16PS work, on the CPU itself or emulated. Everything else that is illegal ends the process
/// as ever, and so does what AMX refuses: its fault is written to standard error. False on other architectures, where
/// the CPU cannot run the rest of such code. With GCC_GRAPH_EMULATE_AMX in the environment the unit is not asked for,
/// and its instructions are illegal as elsewhere.
bool provide_amx();

/// Instructions that were emulated so far in this thread; 0 on a CPU with the unit.
long emulated_amx_instructions();
/// How many of these a task spends on configuring and releasing tiles: 0 where the CPU executes these two itself.
int emulated_per_task();
/// Are the thread's tiles in the state that TILERELEASE leaves? True on a CPU with the unit.
bool amx_is_released();

}  // namespace gcg::test
