// Invalid manifests in files with valid digests: the verifier rejects each one, and the message says where and
// what.
#include "artifact_schema/verify.h"

#include <gtest/gtest.h>

#include "tests/artifact/verdict.h"

namespace gart {
namespace {

using test::ArtifactBuilder;
using test::Nonsense;
using test::verdict;
using test::with_kernel;

// In small_artifact(): symbols 0, 1; buffers 0 x, 1 y, 2 flag, 3 out, 4 weights, 5 and 6 temporaries, 7 trips, 8
// iteration, 9 head of out; sequences 0 and 1 branch, 2 loop, 3 entry with steps 0 fill, 1 branch, 2 loop, 3 copy, 4
// copy.
fb::StepT& entry_step(ArtifactBuilder& b, size_t step) { return *b.plan().sequences[3]->steps[step]; }

const Nonsense kNonsense[] = {
    {"the artifact has no entry point", [](auto& b) { b.content.manifest.entry_points.clear(); }},
    {"entry point 0 'main': it has no plan", [](auto& b) { b.entry().plans.clear(); }},
    {"input 0: it has strings, but its dtype is not i64", [](auto& b) { b.entry().inputs[0]->labels = {"a"}; }},
    {"input 0: its strings do not ascend at string 1",
     [](auto& b) {
       b.entry().inputs[0]->dtype = fb::DType::i64;
       b.entry().inputs[0]->labels = {"b", "b"};
     }},
    {"target 0: it has no name", [](auto& b) { b.content.manifest.targets[0]->name.clear(); }},
    {"target 0: it asks for unknown CPU features",
     [](auto& b) { b.content.manifest.targets[0]->features |= uint64_t{1} << 60; }},
    {"import 1 'system' is not on the allowed list",
     [](auto& b) { b.content.manifest.targets[0]->imports = {"expf", "system"}; }},
    {"target 0: its kind 9 is not known", [](auto& b) { b.content.manifest.targets[0]->kind = fb::TargetKind(9); }},
    // Interface.
    {"input 1: name 'x' occurs twice", [](auto& b) { b.entry().inputs[1]->name.assign(1, 'x'); }},
    {"input 0: its dtype 77 is not known", [](auto& b) { b.entry().inputs[0]->dtype = fb::DType(77); }},
    {"output 0: its dtype 0 is not known", [](auto& b) { b.entry().outputs[0]->dtype = fb::DType::undefined; }},
    {"input 0: it has rank 17, the limit is 16", [](auto& b) { b.entry().inputs[0]->dims.assign(17, 0); }},
    {"input 0: dim 1 is 900, but there are 10 slots", [](auto& b) { b.entry().inputs[0]->dims[1] = 900; }},
    {"output 0: its name contains a NUL byte", [](auto& b) { b.entry().outputs[0]->name = std::string("a\0b", 3); }},
    {"its name has 1048577 bytes, the limit is 1048576",
     [](auto& b) { b.entry().inputs[0]->name.assign((1 << 20) + 1, 'n'); }},
    {"symbol 1: its name has 1025 bytes, the limit is 1024",
     [](auto& b) { b.entry().symbols[1]->name.assign(1025, 's'); }},
    {"symbol 1: name 'rows' is empty or occurs twice", [](auto& b) { b.entry().symbols[1]->name = "rows"; }},
    {"symbol 0: input is 5, but there are 3 inputs", [](auto& b) { b.entry().symbols[0]->input = 5; }},
    {"symbol 0: input is 4294967294, but there are 3 inputs", [](auto& b) { b.entry().symbols[0]->input = -2; }},
    {"symbol 0: axis is 2, but there are 2 axes", [](auto& b) { b.entry().symbols[0]->axis = 2; }},
    {"symbol 0: axis is 4294967295, but there are 2 axes", [](auto& b) { b.entry().symbols[0]->axis = -1; }},
    {"symbol 0: axis 1 of input 0 is slot 9, not the symbol it should carry",
     [](auto& b) { b.entry().symbols[0]->axis = 1; }},
    {"constraint 0: side 1 is 55, but there are 10 slots", [](auto& b) { b.entry().constraints[0]->b = 55; }},
    {"an extent of input 1 depends on a symbol that is only bound during the run",
     [](auto& b) { b.entry().symbols[1]->input = -1; }},
    // Shape programs.
    {"instruction 6 reads slot 8, but may only read slots below 8",
     [](auto& b) { b.plan().program[6] = {fb::ExprOp::mul, 0, 8, 0}; }},
    {"instruction 0 has operation 99", [](auto& b) { b.plan().program[0] = {fb::ExprOp(99), 0, 0, 0}; }},
    {"entry point 0 'main': instruction 6 reads slot 4294967295",
     [](auto& b) { b.entry().program[6] = {fb::ExprOp::mul, 0xffffffff, 0, 0}; }},
    {"shape slot 8 cannot be computed: floor_div of 1 and 0",
     [](auto& b) { b.plan().program[6] = {fb::ExprOp::floor_div, 2, 6, 0}; }},
    // Plans.
    {"plan 0: target is 3, but there are 1 targets", [](auto& b) { b.plan().target = 3; }},
    {"plan 0: it fixes 1 symbols of 2", [](auto& b) { b.plan().fixed = {-1}; }},
    {"plan 0: symbol 1 is fixed to -7", [](auto& b) { b.plan().fixed = {-1, -7}; }},
    {"plan 0: it has no sequence of steps", [](auto& b) { b.plan().sequences.clear(); }},
    {"the arena has 5 bytes and a lower bound of 6",
     [](auto& b) { b.plan().arena_bytes = 5, b.plan().arena_lower_bound = 6; }},
    {"the arena has 18446744073709551615 bytes", [](auto& b) { b.plan().arena_bytes = ~uint64_t{0}; }},
    // Buffers.
    {"buffer 0: its kind 9 is not known", [](auto& b) { b.plan().buffers[0]->kind = fb::BufferKind(9); }},
    {"buffer 1: size is 10, but there are 10 slots", [](auto& b) { b.plan().buffers[1]->size = 10; }},
    {"buffer 0: index is 3, but there are 3 inputs", [](auto& b) { b.plan().buffers[0]->index = 3; }},
    {"buffer 3: index is 1, but there are 1 outputs", [](auto& b) { b.plan().buffers[3]->index = 1; }},
    {"output 0 has 2 buffers instead of one", [](auto& b) { b.plan().buffers[5]->kind = fb::BufferKind::output; }},
    {"output 0 has 0 buffers instead of one",
     [](auto& b) {
       b.plan().buffers[3]->kind = fb::BufferKind::input;
       b.plan().buffers[9]->kind = fb::BufferKind::input;
     }},
    {"buffer 4 lies at offset 100 of the weights, not at a multiple of 64",
     [](auto& b) { b.plan().buffers[4]->offset = 100; }},
    {"buffer 4 (64 bytes at offset 256) does not fit into the weights of 256 bytes",
     [](auto& b) { b.plan().buffers[4]->offset = 256; }},
    {"buffer 4 lies at offset -1 of the weights", [](auto& b) { b.plan().buffers[4]->offset = ~uint64_t{63}; }},
    {"buffer 4 would have -64 bytes", [](auto& b) { b.plan().program[2] = {fb::ExprOp::constant, 0, 0, -64}; }},
    {"buffer 9: it is a view of buffer 9, not a lower one", [](auto& b) { b.plan().buffers[9]->alias_of = 9; }},
    {"buffer 9: it is a view of buffer -2, not a lower one", [](auto& b) { b.plan().buffers[9]->alias_of = -2; }},
    {"buffer 9: it differs in kind or index from buffer 0", [](auto& b) { b.plan().buffers[9]->alias_of = 0; }},
    {"buffer 9: alias_offset is 77, but there are 10 slots", [](auto& b) { b.plan().buffers[9]->alias_offset = 77; }},
    {"buffer 10: it is a view of buffer 9, which is a view itself", [](auto& b) { b.view(9, 4, 6); }},
    {"does not fit into its base buffer of 8 bytes", [](auto& b) { b.view(8, 4, 6); }},
    {"buffer 5: conflict 0 is 99, but there are 10 buffers", [](auto& b) { b.plan().buffers[5]->conflicts = {99}; }},
    {"buffer 6: it cannot conflict with buffer 6", [](auto& b) { b.plan().buffers[6]->conflicts = {6}; }},
    {"buffer 6: it cannot conflict with buffer 4", [](auto& b) { b.plan().buffers[6]->conflicts = {4}; }},
    {"placement 0 is 10, but there are 10 buffers", [](auto& b) { b.plan().placement[0] = 10; }},
    {"placement of buffer 5: not a temporary, or placed twice", [](auto& b) { b.plan().placement[1] = 5; }},
    {"placement of buffer 3: not a temporary", [](auto& b) { b.plan().placement[1] = 3; }},
    {"temporary buffer 8 is never placed", [](auto& b) { b.plan().placement.pop_back(); }},
    {"buffer 8 (8 bytes at offset 0) does not fit into the arena of 0 bytes",
     [](auto& b) { b.plan().placement.clear(); }},
    {"buffer 5 has a symbolic size, but the plan has no placement",
     [](auto& b) { b.plan().placement.clear(), b.plan().arena_bytes = 64; }},
    {"buffer 6 (192 bytes at offset 192) does not fit into the arena of 320 bytes",
     [](auto& b) {
       b.plan().placement.clear(), b.plan().fixed = {3, 3}, b.plan().arena_bytes = 320,
                                   b.plan().buffers[6]->offset = 192;
     }},
    // Steps.
    {"sequence 3, step 0 (): its kind 77 is not known", [](auto& b) { entry_step(b, 0).kind = fb::StepKind(77); }},
    {"step 3 (): operand 1 is 10, but there are 10 buffers", [](auto& b) { entry_step(b, 3).operands[1] = 10; }},
    {"step 3 (): it has 3 operands, copy takes 2", [](auto& b) { entry_step(b, 3).operands.push_back(0); }},
    {"step 0 (): it has 1 params, fill takes 0", [](auto& b) { entry_step(b, 0).params = {0}; }},
    {"step 1 (): it has 1 bodies, branch takes 2", [](auto& b) { entry_step(b, 1).bodies.pop_back(); }},
    {"step 3 (): tasks is 12, but there are 10 slots", [](auto& b) { entry_step(b, 3).tasks = 12; }},
    {"step 3 (): wait 1 is 3, but there are 3 earlier steps", [](auto& b) { entry_step(b, 3).waits = {0, 3}; }},
    {"step 1 (): body 1 is 3, but there are 3 earlier sequences", [](auto& b) { entry_step(b, 1).bodies[1] = 3; }},
    {"sequence 0 is the body of 2 steps instead of one", [](auto& b) { entry_step(b, 1).bodies[1] = 0; }},
    {"it has 4294967295 streams, the limit is 1024", [](auto& b) { b.plan().streams = UINT32_MAX; }},
    {"step 3 (): stream is 1, but there are 1 streams", [](auto& b) { entry_step(b, 3).stream = 1; }},
    {"step 0 (): it writes buffer 0, which is of kind input", [](auto& b) { entry_step(b, 0).operands[0] = 0; }},
    {"step 3 (): it writes buffer 4, which is of kind constant", [](auto& b) { entry_step(b, 3).operands[0] = 4; }},
    {"step 2 (): it is a loop without a loop table", [](auto& b) { entry_step(b, 2).loop = nullptr; }},
    {"step 2 (): it would never end", [](auto& b) { entry_step(b, 2).loop->trip_count = -1; }},
    {"step 2 (): trip_count is 10, but there are 10 buffers", [](auto& b) { entry_step(b, 2).loop->trip_count = 10; }},
    {"step 2 (): condition is 4294967294, but there are", [](auto& b) { entry_step(b, 2).loop->condition = -2; }},
    {"step 2 (): iteration is 10, but there are", [](auto& b) { entry_step(b, 2).loop->iteration = 10; }},
    {"step 2 (): it writes buffer 7, which is of kind constant", [](auto& b) { entry_step(b, 2).loop->iteration = 7; }},
    {"step 2 (): it carries 1 buffers to 0", [](auto& b) { entry_step(b, 2).loop->carried_to.clear(); }},
    {"step 2 (): carried_from 0 is 31", [](auto& b) { entry_step(b, 2).loop->carried_from = {31}; }},
    {"step 2 (): it writes buffer 1, which is of kind input", [](auto& b) { entry_step(b, 2).loop->carried_to = {1}; }},
    {"step 3 (): kernel is 0, but there are 0 kernels", [](auto& b) { entry_step(b, 3).kind = fb::StepKind::launch; }},
    {"step 0 (): it binds symbol 0, which an input carries",
     [](auto& b) { entry_step(b, 0).kind = fb::StepKind::bind, entry_step(b, 0).params = {0}; }},
    {"step 0 (): symbol is 2, but there are 2 symbols",
     [](auto& b) { entry_step(b, 0).kind = fb::StepKind::bind, entry_step(b, 0).params = {2}; }},
    {"step 0 (Conv_17): stream is 9",
     [](auto& b) { entry_step(b, 0).source = "Conv_17", entry_step(b, 0).stream = 9; }},
};

TEST(Verify, NonsenseIsRejectedInWords) {
  for (const Nonsense& nonsense : kNonsense) {
    ArtifactBuilder builder = test::small_artifact();
    ASSERT_EQ(verdict(builder), "");
    nonsense.commit(builder);
    const std::string message = verdict(builder);
    EXPECT_NE(message.find(nonsense.message), std::string::npos)
        << "got '" << message << "', wanted '" << nonsense.message << "'";
  }
}

/// Sets the index checks of the only launch.
fb::IndexCheckT& index_check(ArtifactBuilder& b) {
  auto& indices = b.plan().sequences[0]->steps[0]->indices;
  indices.push_back(std::make_unique<fb::IndexCheckT>());
  return *indices.back();
}

const Nonsense kKernelNonsense[] = {
    {"operand of indices is 2, but there are 2 operands", [](auto& b) { index_check(b).operand = 2; }},
    {"limit of indices is 99", [](auto& b) { index_check(b).limit = 99; }},
    {"its indices are 0 elements apart", [](auto& b) { index_check(b).step = 0; }},
    {"kernel 0 (1 bytes at offset 100) lies outside the code of 100 bytes",
     [](auto& b) { b.plan().kernels[0]->offset = 100; }},
    {"kernel 0 (0 bytes at offset 10)", [](auto& b) { b.plan().kernels[0]->size = 0; }},
    {"kernel 0 (91 bytes at offset 10)", [](auto& b) { b.plan().kernels[0]->size = 91; }},
    {"kernel 0 (18446744073709551615 bytes", [](auto& b) { b.plan().kernels[0]->size = ~uint64_t{0}; }},
    {"lies outside the code of 0 bytes", [](auto& b) { b.content.code.clear(); }},
    {"kernel 0: scratch is 2, but there are 2 slots", [](auto& b) { b.plan().kernels[0]->scratch = 2; }},
    {"it gives 2 operands and 1 params to kernel 0, which takes 3 and 1",
     [](auto& b) { b.plan().kernels[0]->operands = 3; }},
    {"it gives 2 operands and 0 params to kernel 0, which takes 2 and 1",
     [](auto& b) { b.plan().sequences[0]->steps[0]->params.clear(); }},
    {"param 0 is 2, but there are 2 slots", [](auto& b) { b.plan().sequences[0]->steps[0]->params[0] = 2; }},
    {"write 0 is 2, but there are 2 operands", [](auto& b) { b.plan().sequences[0]->steps[0]->writes = {2}; }},
    {"it writes buffer 0, which is of kind input", [](auto& b) { b.plan().sequences[0]->steps[0]->writes = {0, 1}; }},
};

/// An entry point that reads a state of the program and writes one of a session, both f32[2].
ArtifactBuilder with_states() {
  ArtifactBuilder b;
  const uint32_t two = b.constant(2), size = b.constant(8), one = b.constant(1);
  b.instruction(fb::ExprOp::add, two, one);  // slot 3: the verifier does not know that it is constant
  b.content.weights.assign(256, 0);
  for (const char* name : {"w", "s"}) b.input(name, fb::DType::f32, {two});
  b.output("next", fb::DType::f32, {two});
  b.buffer(fb::BufferKind::input, 0, size);
  b.buffer(fb::BufferKind::input, 1, size);
  b.buffer(fb::BufferKind::output, 0, size);
  b.step(fb::StepKind::copy, {2, 0}, one);
  b.close_sequence();
  for (const char* name : {"w", "s"}) {
    b.entry().states.push_back(std::make_unique<fb::StateT>());
    b.entry().states.back()->name = name;
  }
  b.entry().states[0]->scope = fb::StateScope::program;
  b.entry().states[0]->read_only = true;
  b.entry().states[0]->initial = 64;
  return b;
}

/// Adds an entry point like that of with_states(), which shares the states of the first one.
void add_second_entry(ArtifactBuilder& b) {
  ArtifactBuilder other = with_states();
  other.entry().name = "second";
  b.content.manifest.entry_points.push_back(std::move(other.content.manifest.entry_points[0]));
}

const Nonsense kStateNonsense[] = {
    {"it has 3 states, but 2 inputs and 1 outputs",
     [](auto& b) { b.entry().states.push_back(std::make_unique<fb::StateT>()); }},
    {"it has 2 states, but 2 inputs and 1 outputs", [](auto& b) { b.entry().states[0]->read_only = false; }},
    {"state 1: its name occurs twice", [](auto& b) { b.entry().states[1]->name = "w"; }},
    {"state 1: its output is not in the order of the states", [](auto& b) { b.entry().states[1]->output = 1; }},
    {"state 0: its scope 9 is not known", [](auto& b) { b.entry().states[0]->scope = fb::StateScope(9); }},
    {"state 0: its first value (8 bytes at offset 65) does not lie in the weights of 256 bytes",
     [](auto& b) { b.entry().states[0]->initial = 65; }},
    {"(8 bytes at offset 256) does not lie in", [](auto& b) { b.entry().states[0]->initial = 256; }},
    {"(8 bytes at offset 9223372036854775744) does not lie in",
     [](auto& b) { b.entry().states[0]->initial = INT64_MAX - 63; }},
    {"(8 bytes at offset 64) does not lie in the weights of 64 bytes", [](auto& b) { b.content.weights.resize(64); }},
    {"state 0: an extent is open, but a first value and the program's states need constant ones",
     [](auto& b) { b.entry().inputs[0]->dims = {3}; }},
    {"state 1: an extent is open",
     [](auto& b) { b.entry().states[1]->initial = 0, b.entry().inputs[1]->dims = b.entry().outputs[0]->dims = {3}; }},
    {"state 0: it is written in place, but only read",
     [](auto& b) { b.entry().states[0]->in_place = b.entry().states[0]->read_only = true; }},
    {"state 1: its input and output differ in type", [](auto& b) { b.entry().inputs[1]->dtype = fb::DType::i32; }},
    {"entry points 0 and 1 differ in the type or the first value of state 'w'",
     [](auto& b) { add_second_entry(b), b.entry().states[0]->initial = 128; }},
    {"entry points 0 and 1 differ in the type or the first value of state 'w'",
     [](auto& b) { add_second_entry(b), b.entry().inputs[0]->dtype = fb::DType::i32; }},
    {"entry points 0 and 1 differ in the type or the first value of state 's'",
     [](auto& b) { add_second_entry(b), b.entry().states[1]->scope = fb::StateScope::program; }},
};

TEST(Verify, StatesAgree) {
  ArtifactBuilder shared = with_states();
  add_second_entry(shared);
  EXPECT_EQ(verdict(shared), "");
  for (const Nonsense& nonsense : kStateNonsense) {
    ArtifactBuilder builder = with_states();
    ASSERT_EQ(verdict(builder), "");
    nonsense.commit(builder);
    const std::string message = verdict(builder);
    EXPECT_NE(message.find(nonsense.message), std::string::npos)
        << "got '" << message << "', wanted '" << nonsense.message << "'";
  }
}

TEST(Verify, KernelsStayInsideTheCode) {
  for (const Nonsense& nonsense : kKernelNonsense) {
    ArtifactBuilder builder = with_kernel();
    ASSERT_EQ(verdict(builder), "");
    nonsense.commit(builder);
    const std::string message = verdict(builder);
    EXPECT_NE(message.find(nonsense.message), std::string::npos)
        << "got '" << message << "', wanted '" << nonsense.message << "'";
  }
}

/// An artifact with the output y[k], whose extent is a run-bound symbol. `middle` adds the steps that bind k and write
/// y.
ArtifactBuilder with_late_output(
    const std::function<void(ArtifactBuilder&, uint32_t count, uint32_t k, uint32_t y)>& middle) {
  ArtifactBuilder b;
  const uint32_t k = b.symbol("k"), eight = b.constant(8), one = b.constant(1);
  b.input("count", fb::DType::i64, {});
  b.input("flag", fb::DType::boolean, {});
  b.output("y", fb::DType::u8, {k});
  const uint32_t count = b.buffer(fb::BufferKind::input, 0, eight), y = b.buffer(fb::BufferKind::output, 0, k);
  b.buffer(fb::BufferKind::input, 1, one);
  middle(b, count, k, y);
  b.close_sequence();
  return b;
}

TEST(Verify, SymbolsAreBoundBeforeTheyAreUsed) {
  using Kind = fb::StepKind;
  const uint32_t one = 2, flag = 2;
  ArtifactBuilder right = with_late_output([&](auto& b, uint32_t count, uint32_t k, uint32_t y) {
    b.step(Kind::bind, {count}, one).params = {k};
    b.step(Kind::fill, {y}, k);
  });
  EXPECT_EQ(verdict(right), "");
  ArtifactBuilder too_late = with_late_output([&](auto& b, uint32_t count, uint32_t k, uint32_t y) {
    b.step(Kind::fill, {y}, one);
    b.step(Kind::bind, {count}, one).params = {k};
  });
  EXPECT_NE(
      verdict(too_late).find("step 0 (): the size or place of buffer 1 depends on a symbol that is not bound yet"),
      std::string::npos);
  ArtifactBuilder never = with_late_output([&](auto&, uint32_t, uint32_t, uint32_t) {});
  EXPECT_NE(verdict(never).find("an extent of output 0 depends on a symbol that is not bound on every path"),
            std::string::npos);

  const auto branching = [&](bool both) {
    return with_late_output([&](auto& b, uint32_t count, uint32_t k, uint32_t y) {
      b.step(Kind::bind, {count}, one).params = {k};
      const uint32_t first = b.close_sequence();
      if (both) b.step(Kind::bind, {count}, one).params = {k};
      const uint32_t second = b.close_sequence();
      b.step(Kind::branch, {flag}, one).bodies = {first, second};
      b.step(Kind::fill, {y}, one);
    });
  };
  ArtifactBuilder bound_by_both = branching(true), bound_by_one = branching(false);
  EXPECT_EQ(verdict(bound_by_both), "");
  EXPECT_NE(verdict(bound_by_one).find("step 1 (): the size or place of buffer 1"), std::string::npos);
}

TEST(Verify, AFailureComparesTwoSlotsOrNone) {
  for (const size_t params : {0, 1, 2, 3}) {
    ArtifactBuilder b;
    const uint32_t one = b.constant(1);
    b.step(fb::StepKind::fail, {}, one).params.assign(params, one);
    b.close_sequence();
    const std::string message = verdict(b);
    const bool refused = message.find("fail takes none or two") != std::string::npos;
    EXPECT_EQ(refused, params == 1 || params == 3) << message;
    EXPECT_EQ(message.empty(), !refused) << message;
  }
}

/// A hand-made manifest in which all steps share one vector of indices; the writer never shares such vectors.
std::vector<uint8_t> manifest_with_shared_waits(size_t steps, size_t waits) {
  flatbuffers::FlatBufferBuilder b;
  const auto shared = b.CreateVector(std::vector<uint32_t>(waits, 0));
  std::vector<flatbuffers::Offset<fb::Step>> list;
  for (size_t i = 0; i < steps; ++i) {
    fb::StepBuilder step(b);
    step.add_kind(fb::StepKind::fail);
    if (i > 0) step.add_waits(shared);
    list.push_back(step.Finish());
  }
  const std::vector<flatbuffers::Offset<fb::Sequence>> sequences = {fb::CreateSequenceDirect(b, &list)};
  const std::vector<fb::Instruction> program = {{fb::ExprOp::constant, 0, 0, 0}};
  const std::vector<flatbuffers::Offset<fb::Plan>> plans = {
      fb::CreatePlanDirect(b, 0, nullptr, &program, nullptr, nullptr, nullptr, &sequences)};
  const std::vector<flatbuffers::Offset<fb::EntryPoint>> entries = {
      fb::CreateEntryPointDirect(b, "main", nullptr, nullptr, nullptr, nullptr, nullptr, &plans)};
  const std::vector<flatbuffers::Offset<fb::Target>> targets = {fb::CreateTargetDirect(b, "any", fb::TargetKind::cpu)};
  fb::FinishManifestBuffer(b, fb::CreateManifestDirect(b, &entries, &targets));
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

TEST(Verify, SharedVectorsAreRefused) {
  for (const size_t waits : {size_t{1}, size_t{50000}}) {
    const std::vector<uint8_t> manifest = manifest_with_shared_waits(5000, waits);
    ArtifactView view;
    view.file = manifest;
    view.sections = {{SectionKind::manifest, 0, 0, manifest.size(), 64, {}}};
    view.manifest = fb::GetManifest(manifest.data());
    EXPECT_EQ(verify_artifact(view).message.find("the manifest's tables share vectors or strings") != std::string::npos,
              waits > 1);
  }
}

TEST(Verify, BodiesNestOnlySoDeep) {
  ArtifactBuilder b = test::small_artifact();
  b.plan().sequences.clear();
  b.close_sequence();
  for (uint32_t depth = 0; depth < 70; ++depth) {
    fb::StepT& loop = b.step(fb::StepKind::loop, {}, 2);
    loop.bodies = {depth};
    loop.loop = std::make_unique<fb::LoopT>();
    loop.loop->trip_count = 7;
    b.close_sequence();
  }
  EXPECT_NE(verdict(b).find("sequence 64 nests 65 deep, the limit is 64"), std::string::npos) << verdict(b);
}

}  // namespace
}  // namespace gart
