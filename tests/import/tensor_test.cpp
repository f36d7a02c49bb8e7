// Initializers: all encodings of elements, and data of a wrong size.
#include "tests/import/text_model.h"

namespace gcg::test {
namespace {

/// A model whose output is initializer `w`, given by its fields.
onnx::ModelProto tensor_model(const std::string& fields) {
  return graph_model("initializer { name: 'w' " + fields + " } " + node("Identity", "w", "y") +
                     " output { name: 'y' }");
}
TensorRef imported(const std::string& fields) {
  return value_called(import_model(tensor_model(fields)).graph, "w").constant;
}

struct Storage {
  const char* fields;
  DType dtype;
  std::vector<double> elements;
};

TEST(ImportTensor, EveryStorageOfEveryType) {
  const std::vector<Storage> rows = {
      {"dims: 2 data_type: 1 float_data: [1.5, -2]", DType::f32, {1.5, -2}},
      {"dims: 2 data_type: 1 raw_data: '\\000\\000\\300\\077\\000\\000\\000\\300'", DType::f32, {1.5, -2}},
      {"dims: 1 data_type: 11 double_data: 0.1", DType::f64, {0.1}},
      {"dims: 3 data_type: 7 int64_data: [1, -1, 9223372036854775807]", DType::i64, {1, -1, 9223372036854775807.0}},
      {"dims: 2 data_type: 6 int32_data: [7, -7]", DType::i32, {7, -7}},
      {"dims: 2 data_type: 5 int32_data: [7, -7]", DType::i16, {7, -7}},
      {"dims: 2 data_type: 3 int32_data: [7, -128]", DType::i8, {7, -128}},
      {"dims: 2 data_type: 2 int32_data: [7, 255]", DType::u8, {7, 255}},
      {"dims: 2 data_type: 4 int32_data: [7, 65535]", DType::u16, {7, 65535}},
      {"dims: 2 data_type: 12 uint64_data: [7, 4294967295]", DType::u32, {7, 4294967295.0}},
      {"dims: 1 data_type: 13 uint64_data: 18446744073709549568", DType::u64, {18446744073709549568.0}},
      {"dims: 3 data_type: 9 int32_data: [0, 1, 5]", DType::boolean, {0, 1, 1}},
      {"dims: 3 data_type: 9 raw_data: '\\000\\001\\005'", DType::boolean, {0, 1, 1}},
      {"dims: 2 data_type: 10 int32_data: [15360, 49152]", DType::f16, {1, -2}},
      {"dims: 1 data_type: 16 int32_data: 16256", DType::bf16, {1}},
      {"data_type: 1 float_data: 3", DType::f32, {3}},
      {"dims: [2, 0] data_type: 1", DType::f32, {}},
  };
  for (const Storage& row : rows) {
    const TensorRef t = imported(row.fields);
    ASSERT_TRUE(t) << row.fields;
    EXPECT_EQ(t->dtype(), row.dtype) << row.fields;
    ASSERT_EQ(t->elements(), static_cast<int64_t>(row.elements.size())) << row.fields;
    for (size_t i = 0; i < row.elements.size(); ++i)
      EXPECT_EQ(t->at_double(static_cast<int64_t>(i)), row.elements[i]) << row.fields << " element " << i;
  }
}

TEST(ImportTensor, DataThatDoesNotFitIsRefusedInWords) {
  EXPECT_EQ(error_of(tensor_model("dims: 3 data_type: 1 float_data: 1")),
            "tensor 'w' has 1 elements of data, but its shape needs 3");
  EXPECT_EQ(error_of(tensor_model("dims: 3 data_type: 1 raw_data: 'abc'")),
            "tensor 'w' has 3 bytes of data, but its shape and type need 12");
  EXPECT_EQ(error_of(tensor_model("dims: [2, -3] data_type: 1")),
            "tensor 'w' has the negative extent -3 in dimension 1");
}

TEST(ImportTensor, HugeExtentsAllocateNothing) {
  const std::string huge = "4611686018427387904";
  EXPECT_EQ(error_of(tensor_model("dims: [" + huge + ", " + huge + ", 4] data_type: 1 raw_data: ''")),
            "tensor 'w' has the shape [" + huge + "," + huge + ",4], which is larger than 140737488355328 bytes");
  EXPECT_EQ(error_of(tensor_model("dims: 1000000000000 data_type: 1")),
            "tensor 'w' has 0 elements of data, but its shape needs 1000000000000");
  EXPECT_EQ(error_of(tensor_model("dims: [0, " + huge + ", " + huge + "] data_type: 1")), "");
}

TEST(ImportTensor, SparseTensorsBecomeDense) {
  const auto model = [](const std::string& indices) {
    return graph_model(
        "sparse_initializer { values { name: 'w' dims: 2 data_type: 1 float_data: [1.5, -2] } indices { " + indices +
        " } dims: 2 dims: 3 } " + node("Identity", "w", "y") + " output { name: 'y' }");
  };
  for (const char* indices :
       {"dims: 2 data_type: 7 int64_data: [1, 5]", "dims: 2 dims: 2 data_type: 7 int64_data: [0, 1, 1, 2]"}) {
    const TensorRef w = value_called(import_model(model(indices)).graph, "w").constant;
    ASSERT_TRUE(w) << indices;
    std::vector<double> elements;
    for (int64_t i = 0; i < w->elements(); ++i) elements.push_back(w->at_double(i));
    EXPECT_EQ(elements, (std::vector<double>{0, 1.5, 0, 0, 0, -2})) << indices;
  }
  EXPECT_EQ(error_of(model("dims: 2 data_type: 7 int64_data: [1, 6]")),
            "tensor 'w': index 1 lies outside its shape [2,3]");
  EXPECT_EQ(error_of(model("dims: 2 dims: 2 data_type: 7 int64_data: [0, 1, 1, 3]")),
            "tensor 'w': index 1 lies outside its shape [2,3]");
  EXPECT_EQ(error_of(model("dims: 2 data_type: 7 int64_data: [5, 1]")),
            "tensor 'w': index 1 is not above the one before it");
  EXPECT_EQ(error_of(model("dims: 1 data_type: 7 int64_data: 1")),
            "tensor 'w' has 2 values, but indices of the shape [1]");
}

TEST(ImportTensor, ASparseConstantBecomesDense) {
  const auto model = [](const std::string& type) {
    return graph_model(node("Constant", "", "w",
                            "attribute { name: 'sparse_value' type: SPARSE_TENSOR sparse_tensor { values { dims: 2 "
                            "data_type: " +
                                type +
                                " float_data: [1.5, -2] } indices { dims: 2 data_type: 7 "
                                "int64_data: [1, 3] } dims: 4 } }") +
                       node("Identity", "w", "y") + " output { name: 'y' }");
  };
  const TensorRef w = value_called(import_model(model("1")).graph, "w").constant;
  ASSERT_TRUE(w);
  EXPECT_EQ(w->shape(), std::vector<int64_t>{4});
  std::vector<double> elements;
  for (int64_t i = 0; i < w->elements(); ++i) elements.push_back(w->at_double(i));
  EXPECT_EQ(elements, (std::vector<double>{0, 1.5, 0, -2}));
  EXPECT_EQ(unsupported_in(model("14")).size(), 1u);
}

TEST(ImportTensor, TypesWithoutAnArithmeticHereAreRows) {
  const auto rows = unsupported_in(tensor_model("dims: 1 data_type: 14 float_data: [1, 2]"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "w");
  EXPECT_EQ(rows[0].op, "initializer");
  EXPECT_EQ(rows[0].why, "element type complex64 (number 14) is not supported");
}

TEST(ImportTensor, ConstantNodesOfEveryForm) {
  const auto constant = [](const std::string& attribute) {
    const Graph g = import_model(graph_model(node("Constant", "", "c", "attribute { " + attribute + " }") +
                                             node("Identity", "c", "y") + "output { name: 'y' }"))
                        .graph;
    return value_called(g, "c").constant;
  };
  EXPECT_EQ(constant("name: 'value_int' type: INT i: 5")->at_int(0), 5);
  EXPECT_EQ(constant("name: 'value_int' type: INT i: 5")->rank(), 0);
  EXPECT_EQ(constant("name: 'value_ints' type: INTS ints: [1, 2]")->to_ints(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(constant("name: 'value_float' type: FLOAT f: 0.5")->at_double(0), 0.5);
  EXPECT_EQ(constant("name: 'value_floats' type: FLOATS floats: [0.5, 1]")->shape(), (std::vector<int64_t>{2}));
  EXPECT_EQ(constant("name: 'value' type: TENSOR t { dims: 1 data_type: 7 int64_data: 4 }")->at_int(0), 4);
  EXPECT_EQ(constant("name: 'value' t { dims: 1 data_type: 7 int64_data: 4 }")->at_int(0), 4) << "no declared type";
}

}  // namespace
}  // namespace gcg::test
