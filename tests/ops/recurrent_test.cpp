#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

/// ((7 i + 3 seed) mod 11 - 5) / 10 at element i.
Tensor series(std::vector<int64_t> shape, int64_t seed) {
  Tensor t(DType::f32, std::move(shape));
  for (int64_t i = 0; i < t.elements(); ++i) t.set_double(i, static_cast<double>((i * 7 + seed * 3) % 11 - 5) / 10);
  return t;
}

/// Inputs of a node over X f32[3,2,2] with hidden size 2; `present` names the inputs after X, W, R.
std::vector<OpInput> inputs(int64_t gates, int64_t directions, const std::string& present, bool batch_first = false) {
  const std::vector<int64_t> state =
      batch_first ? std::vector<int64_t>{2, directions, 2} : std::vector<int64_t>{directions, 2, 2};
  Tensor lengths(DType::i32, {2});
  lengths.set_int(0, 3);
  lengths.set_int(1, 2);
  const std::pair<char, Tensor> optional[] = {{'B', series({directions, 2 * gates * 2}, 4)},
                                              {'L', lengths},
                                              {'H', series(state, 5)},
                                              {'C', series(state, 6)},
                                              {'P', series({directions, 6}, 7)}};
  std::vector<OpInput> all = {
      data(series(batch_first ? std::vector<int64_t>{2, 3, 2} : std::vector<int64_t>{3, 2, 2}, 1)),
      known(series({directions, gates * 2, 2}, 2)), known(series({directions, gates * 2, 2}, 3))};
  for (const auto& [name, tensor] : optional) {
    if (present.find(name) == std::string::npos)
      all.push_back(omitted());
    else
      all.push_back(name == 'B' || name == 'P' ? known(tensor) : data(tensor));
  }
  while (all.back().omitted) all.pop_back();
  return all;
}

void check(const char* op, int64_t directions, const std::string& present, std::map<std::string, Attribute> attributes,
           const std::vector<Tensor>& expected) {
  const int64_t gates = std::string(op) == "LSTM" ? 4 : std::string(op) == "GRU" ? 3 : 1;
  check_op({present, op, inputs(gates, directions, present), std::move(attributes), expected,
            static_cast<int>(expected.size()), true, 1e-5});
}

// The literals of the following tests were computed by onnxruntime 1.31.

TEST(Recurrent, Rnn) {
  check("RNN", 1, "", {},
        {f32({3, 1, 2, 2}, {-0.168381, -0.0798298, 0.099668, 0.0399787, -0.0273456, 0.200644, -0.0898895, -0.185694,
                            0.12835, 0.0311215, 0.0440158, 0.0601748}),
         f32({1, 2, 2}, {0.12835, 0.0311215, 0.0440158, 0.0601748})});
  check("RNN", 1, "BL",
        {{"direction", "reverse"},
         {"activations", std::vector<std::string>{"LeakyRelu"}},
         {"activation_alpha", std::vector<double>{0.5}}},
        {f32({3, 1, 2, 2}, {-0.3882, -0.0871, -0.263, -0.044, -0.266, -0.002, -0.315, -0.18, -0.18, -0.12, 0, 0}),
         f32({1, 2, 2}, {-0.3882, -0.0871, -0.263, -0.044})});
}

TEST(Recurrent, Gru) {
  check("GRU", 1, "B", {},
        {f32({3, 1, 2, 2}, {0.0310124, -0.240488, 0.122853, -0.204749, 0.140428, -0.309926, 0.101692, -0.426201,
                            0.201366, -0.465082, 0.177461, -0.479483}),
         f32({1, 2, 2}, {0.201366, -0.465082, 0.177461, -0.479483})});
  check("GRU", 1, "BLH", {{"linear_before_reset", int64_t{1}}},
        {f32({3, 1, 2, 2}, {-0.0431641, -0.482885, 0.243683, -0.300052, 0.0922735, -0.401176, 0.176666, -0.432808,
                            0.171175, -0.472278, 0, 0}),
         f32({1, 2, 2}, {0.171175, -0.472278, 0.176666, -0.432808})});
}

TEST(Recurrent, Lstm) {
  check("LSTM", 1, "B", {},
        {f32({3, 1, 2, 2}, {0.0399027, 0.015801, -0.0233364, 0.0836235, 0.00226461, 0.0667373, 0.0160375, 0.0544765,
                            -0.0295157, 0.130616, -0.0159128, 0.100579}),
         f32({1, 2, 2}, {-0.0295157, 0.130616, -0.0159128, 0.100579}),
         f32({1, 2, 2}, {-0.067274, 0.401863, -0.0367503, 0.343621})});
  check("LSTM", 2, "BLHCP", {{"direction", "bidirectional"}, {"clip", 0.4}},
        {f32({3, 2, 2, 2}, {0.149636,    -0.00351654, 0.116298, 0.1049,    -0.213263, 0.166719, -0.147588, 0.0778088,
                            0.0470832,   0.0771957,   0.118363, 0.0899793, -0.204071, 0.144794, -0.10032,  0.0118235,
                            -0.00559667, 0.118975,    0,        0,         -0.172984, 0.176209, 0,         0}),
         f32({2, 2, 2}, {-0.00559667, 0.118975, 0.118363, 0.0899793, -0.213263, 0.166719, -0.147588, 0.0778088}),
         f32({2, 2, 2}, {-0.0127798, 0.30564, 0.239554, 0.228087, -0.372548, 0.442161, -0.268727, 0.196372})});
}

/// The inputs of an LSTM with quantised weights: 200 times the original weights plus `zero`, with scales of about 1 /
/// 200.
std::vector<OpInput> quantised(int64_t directions, const std::string& present, DType type, double zero,
                               bool by_column) {
  std::vector<OpInput> in = inputs(4, directions, present);
  in.resize(8, omitted());
  for (size_t i : {1, 2}) {
    Tensor w = series({directions, 2, 8}, static_cast<int64_t>(i) + 1), bytes(type, w.shape());
    for (int64_t k = 0; k < w.elements(); ++k) bytes.set_double(k, std::nearbyint(w.at_double(k) * 200) + zero);
    in[i] = known(bytes);
  }
  for (int64_t seed : {8, 9}) {
    Tensor scale = series(by_column ? std::vector<int64_t>{directions, 8} : std::vector<int64_t>{directions}, seed);
    Tensor zeros(type, scale.shape());
    for (int64_t k = 0; k < scale.elements(); ++k) {
      scale.set_double(k, std::abs(scale.at_double(k)) * 0.01 + 0.005);
      zeros.set_double(k, zero);
    }
    in.push_back(known(scale));
    in.push_back(known(zeros));
  }
  return in;
}

TEST(Recurrent, LstmOfBytes) {
  const auto check_bytes = [](std::vector<OpInput> in, std::map<std::string, Attribute> attributes,
                              const std::vector<Tensor>& expected, double tolerance) {
    OpCase c{"bytes", "DynamicQuantizeLSTM", std::move(in), std::move(attributes), expected, 3, true, tolerance};
    c.domain = "com.microsoft";
    check_op(c);
  };
  check_bytes(quantised(1, "B", DType::u8, 128, false), {},
              {f32({3, 1, 2, 2}, {0.00625819, 0.0279753, -0.00212784, 0.0723506, -0.0067204, 0.00818273, 0.0122462,
                                  0.112317, -0.00134741, 0.112795, 0.00804246, 0.0910219}),
               f32({1, 2, 2}, {-0.00134741, 0.112795, 0.00804246, 0.0910219}),
               f32({1, 2, 2}, {-0.00370853, 0.439057, 0.017583, 0.321882})},
              1e-3);
  check_bytes(
      quantised(2, "BHC", DType::i8, 0, true), {{"direction", "bidirectional"}},
      {f32({3, 2, 2, 2}, {0.0367621,  0.0185842, 0.128616,  0.0721854, -0.306817, 0.189668, -0.327425, 0.153957,
                          0.00659141, 0.0100785, 0.106727,  0.103539,  -0.25003,  0.192577, -0.251864, 0.13263,
                          0.00666038, 0.107951,  0.0704844, 0.0784623, -0.214604, 0.196139, -0.132961, 0.0276477}),
       f32({2, 2, 2}, {0.00666038, 0.107951, 0.0704844, 0.0784623, -0.306817, 0.189668, -0.327425, 0.153957}),
       f32({2, 2, 2}, {0.0165712, 0.41923, 0.161286, 0.267891, -0.617059, 0.572478, -0.598514, 0.546569})},
      1e-3);
  check_bytes(
      quantised(2, "BLHCP", DType::i8, 0, false), {{"direction", "bidirectional"}, {"clip", 0.4}},
      {f32({3, 2, 2, 2}, {0.0377342,  0.00483831,  0.112623,  0.103467, -0.226579, 0.147658, -0.145578,  0.0852659,
                          0.00755009, -0.00447595, 0.0932851, 0.128359, -0.19442,  0.168545, -0.0948479, 0.0201807,
                          0.00595105, 0.0880361,   0,         0,        -0.191815, 0.172187, 0,          0}),
       f32({2, 2, 2}, {0.00595105, 0.0880361, 0.0932851, 0.128359, -0.226579, 0.147658, -0.145578, 0.0852659}),
       f32({2, 2, 2}, {0.0148301, 0.222995, 0.217499, 0.331478, -0.404813, 0.386037, -0.248132, 0.215754})},
      1e-3);
}

TEST(Recurrent, BatchFirstIsTheSameTransposed) {
  for (const char* op : {"LSTM", "GRU", "RNN"}) {
    const int64_t gates = std::string(op) == "LSTM" ? 4 : std::string(op) == "GRU" ? 3 : 1;
    std::vector<OpInput> time_first = inputs(gates, 1, "BL"), batch_first = time_first;
    Tensor x(DType::f32, {2, 3, 2});
    for (int64_t t = 0; t < 3; ++t)
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t k = 0; k < 2; ++k)
          x.set_double((b * 3 + t) * 2 + k, time_first[0].tensor.at_double((t * 2 + b) * 2 + k));
    batch_first[0] = data(x);
    const Tensor want = run_reference({op, op, time_first})[0];
    const Tensor got = check_op({"layout 1", op, batch_first, {{"layout", int64_t{1}}}, {}, gates == 4 ? 3 : 2})[0];
    ASSERT_EQ(got.shape(), (std::vector<int64_t>{2, 3, 1, 2}));
    for (int64_t t = 0; t < 3; ++t)
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t k = 0; k < 2; ++k)
          EXPECT_EQ(got.at_double((b * 3 + t) * 2 + k), want.at_double((t * 2 + b) * 2 + k)) << op;
  }
}

TEST(Recurrent, EmptySequencesKeepTheirState) {
  std::vector<OpInput> in = inputs(3, 1, "BH");
  in[0] = data(Tensor(DType::f32, {0, 2, 2}));
  check_op({"no steps", "GRU", in, {}, {Tensor(DType::f32, {0, 1, 2, 2}), series({1, 2, 2}, 5)}, 2});
}

TEST(Recurrent, WhatDoesNotFitIsRefused) {
  const auto why = [](std::vector<OpInput> in, std::map<std::string, Attribute> attributes) {
    return refusal({"refused", "LSTM", std::move(in), std::move(attributes)});
  };
  EXPECT_NE(why(inputs(4, 1, ""), {{"direction", "sideways"}}).find("direction 'sideways' must be"), std::string::npos);
  EXPECT_NE(why(inputs(4, 1, ""), {{"direction", "bidirectional"}}).find("dimension 0 of W"), std::string::npos);
  EXPECT_NE(why(inputs(3, 1, ""), {}).find("dimension 1 of W"), std::string::npos);
  EXPECT_NE(why(inputs(4, 1, ""), {{"hidden_size", int64_t{3}}}).find("hidden_size and R"), std::string::npos);
  EXPECT_NE(
      why(inputs(4, 1, ""), {{"activations", std::vector<std::string>{"Tanh"}}}).find("3 for each of 1 directions"),
      std::string::npos);
  EXPECT_NE(why(inputs(4, 1, ""), {{"activations", std::vector<std::string>{"Tanh", "Tanh", "Cube"}}})
                .find("'Cube' is not known"),
            std::string::npos);
  std::vector<OpInput> flat = inputs(4, 1, "");
  flat[0] = data(Tensor(DType::f32, {3, 2}));
  EXPECT_NE(why(flat, {}).find("X has rank 2; 3 is needed"), std::string::npos);
  std::vector<OpInput> bytes = quantised(1, "", DType::i8, 0, true);
  bytes[10] = known(series({1, 7}, 1));
  OpCase one_scale_short{"refused", "DynamicQuantizeLSTM", std::move(bytes)};
  one_scale_short.domain = "com.microsoft";
  EXPECT_NE(refusal(one_scale_short).find("dimension 1 of R's scale"), std::string::npos);
}

}  // namespace
}  // namespace gcg::test
