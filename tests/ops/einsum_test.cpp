#include <gtest/gtest.h>

#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

using Ints = std::vector<int64_t>;

OpCase einsum(std::string equation, std::vector<Ints> shapes, DType dtype = DType::f32) {
  OpCase row = {equation, "Einsum", {}, {{"equation", equation}}};
  int seed = 1;
  for (Ints& s : shapes) row.inputs.push_back(data(pattern(dtype, std::move(s), seed++)));
  row.tolerance = 1e-5;
  return row;
}

TEST(Einsum, GivesTheLiteral) {
  const OpInput a = data(f32({2, 2}, {1, 2, 3, 4})), b = data(f32({2, 2}, {5, 6, 7, 8}));
  const std::tuple<const char*, Ints, std::vector<double>> rows[] = {
      {"ij,jk->ik", {2, 2}, {19, 22, 43, 50}},    {"ij,jk", {2, 2}, {19, 22, 43, 50}}, {"ij,ij->", {}, {70}},
      {"ij, kj -> ki", {2, 2}, {17, 39, 23, 53}}, {"ij,ij->j", {2}, {26, 44}},
  };
  for (const auto& [equation, shape, values] : rows) {
    check_op({equation, "Einsum", {a, b}, {{"equation", std::string(equation)}}, {f32(shape, values)}});
  }
  check_op({"diagonal", "Einsum", {a}, {{"equation", std::string("ii->i")}}, {f32({2}, {1, 4})}});
  check_op({"trace", "Einsum", {a}, {{"equation", std::string("ii")}}, {f32({}, {5})}});
  check_op({"transpose, alphabetical result",
            "Einsum",
            {a},
            {{"equation", std::string("ba")}},
            {f32({2, 2}, {1, 3, 2, 4})}});
}

TEST(Einsum, TakesEllipsesBroadcastsAndManyOperands) {
  check_op(einsum("bhid,bhjd->bhij", {{2, 3, 4, 5}, {2, 3, 6, 5}}));
  check_op(einsum("...ij,...jk->...ik", {{2, 3, 4, 5}, {3, 5, 2}}));
  check_op(einsum("...ij,jk", {{2, 4, 5}, {5, 3}}));
  check_op(einsum("...i,...i->...", {{2, 1, 4}, {3, 4}}));
  check_op(einsum("a,b,ab->ba", {{3}, {4}, {3, 4}}));
  check_op(einsum("ij->", {{3, 0}}));
  check_op(einsum("ij,j->i", {{3, 4}, {4}}, DType::i32));
  check_op(einsum("ij,j->i", {{3, 4}, {4}}, DType::f64));
}

TEST(Einsum, RefusesWhatDoesNotFit) {
  EXPECT_NE(refusal(einsum("ij,jk", {{2, 2}})).find("2 terms for 1 inputs"), std::string::npos);
  EXPECT_NE(refusal(einsum("ij", {{2, 2, 2}})).find("does not label"), std::string::npos);
  EXPECT_NE(refusal(einsum("ij->ik", {{2, 2}})).find("label 'k'"), std::string::npos);
  EXPECT_NE(refusal(einsum("i,i", {{2}, {3}})).find("2 and 3 differ"), std::string::npos);
}

TEST(MatMulInteger, SubtractsZeroPoints) {
  const OpInput a = data(tensor(DType::u8, {2, 2}, {1, 2, 3, 255})),
                b = data(tensor(DType::i8, {2, 2}, {5, -6, 7, -128}));
  check_op({"none", "MatMulInteger", {a, b}, {}, {tensor(DType::i32, {2, 2}, {19, -262, 1800, -32658})}});
  check_op({"scalars",
            "MatMulInteger",
            {a, b, data(tensor(DType::u8, {}, {1})), data(tensor(DType::i8, {}, {-1}))},
            {},
            {tensor(DType::i32, {2, 2}, {8, -127, 2044, -32268})}});
  check_op({"per row and column",
            "MatMulInteger",
            {a, b, data(tensor(DType::u8, {2}, {1, 2})), data(tensor(DType::i8, {2}, {3, 4}))}});
  check_op({"only b's", "MatMulInteger", {a, b, omitted(), data(tensor(DType::i8, {1}, {3}))}});
  check_op({"batches", "MatMulInteger", {data(pattern(DType::u8, {2, 1, 3, 4})), data(pattern(DType::u8, {3, 4, 2}))}});
  const OpInput row = data(tensor(DType::u8, {2}, {1, 2})), column = data(tensor(DType::i8, {2}, {5, -6}));
  check_op({"a matrix by a column", "MatMulInteger", {a, column}, {}, {tensor(DType::i32, {2}, {-7, -1515})}});
  check_op({"a row by a matrix", "MatMulInteger", {row, b}, {}, {tensor(DType::i32, {2}, {19, -262})}});
  check_op({"a row by a column", "MatMulInteger", {row, column}, {}, {tensor(DType::i32, {}, {-7})}});
  check_op({"batches by a constant column",
            "MatMulInteger",
            {data(pattern(DType::u8, {2, 1, 3, 4})), known(pattern(DType::i8, {4})), data(tensor(DType::u8, {}, {3})),
             known(tensor(DType::i8, {}, {1}))}});
  EXPECT_NE(refusal({"type", "MatMulInteger", {data(i64({1, 1}, {1})), b}}).find("i8 or u8"), std::string::npos);
}

}  // namespace
}  // namespace gcg::test
