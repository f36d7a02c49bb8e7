"""Models in ONNX's text form with sequences, loops whose values grow and branches of different extents.

MODELS: name -> (text, sets of values for all symbols). Inputs are random, by name and type.
"""

SEQUENCES = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[3,a] x, float[2,b] y, int64 at) => (float[m,n] joined, float[k,p] one, int64 length, float[q,r] sum) {
  sizes = Constant <value = int64[2] {1, 2}> ()
  parts = SplitToSequence <axis = 0> (x, sizes)
  more = SequenceInsert (parts, x)
  minus = Constant <value = int64 {-2}> ()
  fewer = SequenceErase (more, minus)
  joined = ConcatFromSequence <axis = 0> (fewer)
  zero = Constant <value = int64 {0}> ()
  one = SequenceAt (fewer, zero)
  length = SequenceLength (fewer)
  rows = SplitToSequence <axis = 0, keepdims = 0> (x)
  doubled = SequenceMap (rows) <body = each (float[c] v) => (float[d] w) { w = Add (v, v) }>
  stacked = ConcatFromSequence <axis = 1, new_axis = 1> (doubled)
  picked = SequenceAt (rows, at)
  axis = Constant <value = int64[1] {1}> ()
  column = Unsqueeze (picked, axis)
  sum = Add (stacked, column)
}
"""

# SequenceMap over sequences of symbolic length, over one that a loop appends to, and over one of several parts; with tensors and captures.
MAPPED = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[s,a] x, float[t,b] y, float[a] scale, int64 count) => (float[m,n] rows, float[k,p] sums, float[q,r] grown, int64 length) {
  xs = SplitToSequence <axis = 0, keepdims = 0> (x)
  ys = SplitToSequence <axis = 0> (x)
  rows_of, sums_of = SequenceMap (xs, ys, scale) <body = each (float[c] u, float[d,e] v, float[f] w) => (float[g] row, float sum) {
    scaled = Mul (u, w)
    first = Constant <value = int64[1] {0}> ()
    flat = Squeeze (v, first)
    row = Add (scaled, flat)
    sum = ReduceSum <keepdims = 0> (row)
  }>
  rows = ConcatFromSequence <axis = 0, new_axis = 1> (rows_of)
  more = SequenceInsert (rows_of, scale)
  again = SequenceMap (more) <body = once (float[c] u) => (float[d] v) {
    v = Mul (u, scale)
  }>
  sums = ConcatFromSequence <axis = 0, new_axis = 1> (again)
  length = SequenceLength (sums_of)
  empty = SequenceEmpty <dtype = 1> ()
  yes = Constant <value = bool {1}> ()
  all = Loop (count, yes, empty) <body = step (int64 i, bool go, seq(float[h]) so_far) => (bool next, seq(float[h]) longer) {
    next = Identity (go)
    row = Gather (y, i)
    longer = SequenceInsert (so_far, row)
  }>
  doubled = SequenceMap (all) <body = twice (float[c] u) => (float[d] v) {
    v = Add (u, u)
  }>
  grown = ConcatFromSequence <axis = 0, new_axis = 1> (doubled)
}
"""

# An EmbeddingBag in the form of PyTorch's exporter: slices of length one at a data-dependent position broadcast like scalars.
BAGS = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[s,4] x, int64[3] bounds) => (float[m,n] y) {
  yes = Constant <value = bool {1}> ()
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  two = Constant <value = int64 {2}> ()
  minus = Constant <value = int64[1] {-1}> ()
  first = Constant <value = int64[1] {0}> ()
  empty = SequenceEmpty <dtype = 1> ()
  bags, last = Loop (, yes, empty, zero) <body = step (int64 i, bool go, seq(float[a,4]) so_far, int64 at) => (bool again, seq(float[a,4]) longer, int64 next) {
    place = Reshape (at, minus)
    behind = Add (place, one)
    behind2 = Add (place, two)
    start = Slice (bounds, place, behind)
    end = Slice (bounds, behind, behind2)
    rows = Slice (x, start, end)
    sum = ReduceSum (rows, first)
    length = Sub (end, start)
    some = Cast <to = 1> (length)
    least = Constant <value = float {1}> ()
    divisor = Max (some, least)
    mean = Div (sum, divisor)
    longer = SequenceInsert (so_far, mean)
    next = Add (at, one)
    again = Less (next, two)
  }>
  y = ConcatFromSequence <axis = 0> (bags)
}
"""

APPENDING = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[s,4] x, int64 count) => (float[m,n] stacked, float[k] joined, int64 length) {
  empty = SequenceEmpty <dtype = 1> ()
  yes = Constant <value = bool {1}> ()
  zero = Constant <value = float[4] {0, 0, 0, 0}> ()
  last, all = Loop (count, yes, zero, empty) <body = step (int64 i, bool go, float[4] state, seq(float[4]) so_far) => (bool again, float[4] next, seq(float[4]) longer) {
    again = Identity (go)
    row = Gather (x, i)
    next = Add (state, row)
    longer = SequenceInsert (so_far, next)
  }>
  stacked = ConcatFromSequence <axis = 0, new_axis = 1> (all)
  joined = ConcatFromSequence <axis = 0> (all)
  length = SequenceLength (all)
}
"""

UNROLLED = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[2,a] x) => (float[m,n] y) {
  first = SequenceConstruct (x)
  three = Constant <value = int64 {3}> ()
  yes = Constant <value = bool {1}> ()
  all = Loop (three, yes, first) <body = step (int64 i, bool go, seq(float[r,c]) so_far) => (bool again, seq(float[r,c]) longer) {
    again = Identity (go)
    last = SequenceAt (so_far, i)
    wider = Concat <axis = 0> (last, x)
    front = Constant <value = int64 {-1}> ()
    count = SequenceLength (so_far)
    longer = SequenceInsert (so_far, wider, count)
  }>
  y = ConcatFromSequence <axis = 0> (all)
}
"""

GROWING = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[s,3] x, int64 count) => (float[m,k] y, float[n] twice, float[p] sums) {
  yes = Constant <value = bool {1}> ()
  none = Constant <value = float[1,3] {1, 2, 3}> ()
  begin = Constant <value = float[1] {1}> ()
  y, twice, sums = Loop (count, yes, none, begin) <body = step (int64 i, bool go, float[a,3] so_far, float[b] flat) => (bool again, float[c,3] longer, float[d] doubled, float total) {
    again = Identity (go)
    row = Gather (x, i)
    zero = Constant <value = int64[1] {0}> ()
    wide = Unsqueeze (row, zero)
    longer = Concat <axis = 0> (so_far, wide)
    half = Constant <value = float {0.5}> ()
    less = Mul (flat, half)
    doubled = Concat <axis = 0> (flat, less)
    total = ReduceSum <keepdims = 0> (longer)
  }>
}
"""

UNTIL = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[s] x, float limit) => (float last, float[m] seen, int64[k] counts) {
  yes = Constant <value = bool {1}> ()
  begin = Constant <value = float {0}> ()
  most = Constant <value = int64 {1000}> ()
  last, seen, counts = Loop (most, yes, begin) <body = step (int64 i, bool go, float sum) => (bool again, float next, float now, int64 number) {
    each = ReduceMax <keepdims = 0> (x)
    one = Constant <value = float {1}> ()
    positive = Abs (each)
    more = Add (positive, one)
    next = Add (sum, more)
    now = Identity (next)
    number = Identity (i)
    again = Less (next, limit)
  }>
}
"""

# A loop without carried values; the rows depend only on the iteration number.
NUMBERED = """
<ir_version: 10, opset_import: ["" : 18]>
g (int64 count) => (float[4] fixed, float[m] counted) {
  four = Constant <value = int64 {4}> ()
  fixed = Loop (four, ) <body = a (int64 i, bool go) => (bool again, float row) {
    again = Identity (go)
    row = Cast <to = 1> (i)
  }>
  counted = Loop (count, ) <body = b (int64 j, bool on) => (bool on_again, float number) {
    on_again = Identity (on)
    number = Cast <to = 1> (j)
  }>
}
"""

# Values that a loop only appends to, along different axes, until a count or a condition ends it.
APPENDED = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[2,s] x, int64 count, float limit) => (float[2,m] wide, float[k,3] rows, float[n] flat) {
  yes = Constant <value = bool {1}> ()
  none = Constant <value = float[2,1] {1, 2}> ()
  first = Constant <value = float[1,3] {1, 2, 3}> ()
  begin = Constant <value = float {0}> ()
  start = Constant <value = float[2] {5, 6}> ()
  zero = Constant <value = int64[1] {0}> ()
  two = Constant <value = int64[1] {2}> ()
  one = Constant <value = int64[1] {1}> ()
  columns = Slice (x, zero, two, one)
  wide = Loop (count, yes, none) <body = step (int64 i, bool go, float[2,a] so_far) => (bool again, float[2,b] longer) {
    again = Identity (go)
    f = Cast <to = 1> (i)
    part = Mul (columns, f)
    longer = Concat <axis = 1> (so_far, part)
  }>
  most = Constant <value = int64 {1000}> ()
  last, rows, flat = Loop (most, yes, begin, first, start) <body = until (int64 j, bool on, float t, float[c,3] so_far_2, float[d] so_far_3) => (bool more, float next, float[e,3] longer_2, float[f] longer_3) {
    ten = Constant <value = float {10}> ()
    next = Add (t, ten)
    more = Less (next, limit)
    row = Constant <value = float[1,3] {1, 1, 1}> ()
    scaled = Mul (row, next)
    longer_2 = Concat <axis = 0> (so_far_2, scaled)
    number = Cast <to = 1> (j)
    places = Constant <value = int64[1] {0}> ()
    element = Unsqueeze (number, places)
    longer_3 = Concat <axis = -1> (so_far_3, element)
  }>
}
"""

# The last of the rows that a loop collects; the loop determines their number. tf2onnx writes this form for recurrent
# layers of Keras.
LAST_ROW = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[s] x, float limit) => (float[s] last) {
  yes = Constant <value = bool {1}> ()
  begin = Constant <value = float {0}> ()
  most = Constant <value = int64 {12}> ()
  sum, rows = Loop (most, yes, begin) <body = step (int64 i, bool go, float so_far) => (bool again, float next, float[s] row) {
    one = Constant <value = float {1}> ()
    next = Add (so_far, one)
    row = Mul (x, next)
    again = Less (next, limit)
  }>
  from = Constant <value = int64[1] {-1}> ()
  to = Constant <value = int64[1] {2147483647}> ()
  axis = Constant <value = int64[1] {0}> ()
  few = Slice (rows, from, to, axis)
  last = Squeeze (few, axis)
}
"""

BRANCHES = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[s] x, bool flag) => (float[m] y, int64[k] places, float total) {
  y, places = If (flag) <then_branch = yes () => (float[a] a, int64[b] b) {
    a = Concat <axis = 0> (x, x)
    found = NonZero (x)
    flat = Constant <value = int64[1] {-1}> ()
    b = Reshape (found, flat)
  }, else_branch = no () => (float[c] c, int64[d] d) {
    zero = Constant <value = float {0}> ()
    positive = Greater (x, zero)
    c = Compress <axis = 0> (x, positive)
    d = Constant <value = int64[2] {7, 8}> ()
  }>
  total = ReduceSum <keepdims = 0> (y)
}
"""

# Branches return the result of an inner If in two sizes: directly, through a view, with data-dependent sizes, nested twice, and in a Loop.
NESTED_BRANCHES = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[s] x, bool flag, bool inner) => (float[m] y, float[k] deep, float total) {
  y = If (flag) <then_branch = yes () => (float[a] a) {
    a = If (inner) <then_branch = both () => (float[p] p) { p = Concat <axis = 0> (x, x) }, else_branch = one () => (float[q] q) { q = Exp (x) }>
  }, else_branch = no () => (float[b] b) { b = Abs (x) }>
  zero = Constant <value = float {0}> ()
  deep = If (inner) <then_branch = first () => (float[c] c) {
    flat = Constant <value = int64[1] {-1}> ()
    nested = If (flag) <then_branch = second () => (float[d] d) {
      two = Constant <value = float {2}> ()
      low = ReduceMin <keepdims = 0> (x)
      below = Less (low, two)
      d = If (below) <then_branch = third () => (float[e] e) {
        positive = Greater (x, zero)
        e = Compress <axis = 0> (x, positive)
      }, else_branch = fourth () => (float[f] f) { f = Concat <axis = 0> (x, x, x) }>
    }, else_branch = fifth () => (float[h] h) { h = Constant <value = float[3] {7, 8, 9}> () }>
    c = Reshape (nested, flat)
  }, else_branch = sixth () => (float[i] i) {
    i = If (flag) <then_branch = seventh () => (float[j] j) { j = Neg (x) }, else_branch = eighth () => (float[l] l) { l = Concat <axis = 0> (x, y) }>
  }>
  all = Concat <axis = 0> (y, deep)
  total = ReduceSum <keepdims = 0> (all)
}
"""

SUPPRESSION = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[1,n,4] boxes, float[1,2,n] scores, bool flag) => (int64[m,3] kept, float[k,4] best) {
  kept = If (flag) <then_branch = yes () => (int64[a,3] a) {
    most = Constant <value = int64[1] {150}> ()
    overlap = Constant <value = float[1] {0.3}> ()
    a = NonMaxSuppression (boxes, scores, most, overlap)
  }, else_branch = no () => (int64[b,3] b) {
    shape = Constant <value = int64[2] {0, 3}> ()
    b = ConstantOfShape <value = int64[1] {0}> (shape)
  }>
  two = Constant <value = int64 {2}> ()
  numbers = Gather <axis = 1> (kept, two)
  zero = Constant <value = int64[1] {0}> ()
  all = Squeeze (boxes, zero)
  best = Gather <axis = 0> (all, numbers)
}
"""

OPTIONALS = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[a] x) => (float[b] y, bool has, bool hasnt) {
  some = Optional (x)
  y = OptionalGetElement (some)
  has = OptionalHasElement (some)
  hasnt = OptionalHasElement ()
}
"""

EMPTY_BRANCH = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[n,4] x) => (float[k,4] y, float[m,4] z) {
  zero = Constant <value = int64 {0}> ()
  extents = Shape (x)
  count = ReduceProd <keepdims = 0> (extents)
  none = Equal (count, zero)
  kept = If (none) <then_branch = no () => (int64[a] e) {
    e = Constant <value = int64[0] {}> ()
  }, else_branch = yes () => (int64[b] rows) {
    positions = NonZero (x)
    begin = Constant <value_ints = [0]> ()
    end = Constant <value_ints = [1]> ()
    first = Slice (positions, begin, end, begin)
    rows = Squeeze (first, begin)
  }>
  h = Neg (x)
  z = Exp (h)
  y = Gather (z, kept)
}
"""

PIECES = """
<ir_version: 10, opset_import: ["" : 17]>
g (float[3,a] x, float[4,a] y) => (float[m,n] means, int64 count) {
  yes = Constant <value = bool {1}> ()
  both = SequenceConstruct (x, y)
  sizes = Constant <value = int64[3] {2, 3, 2}> ()
  all = ConcatFromSequence <axis = 0> (both)
  parts = SplitToSequence <axis = 0> (all, sizes)
  count = SequenceLength (parts)
  empty = SequenceEmpty <dtype = 1> ()
  rows = Loop (count, yes, empty) <body = step (int64 i, bool go, seq(float[p,q]) so_far) => (bool again, seq(float[p,q]) longer) {
    again = Identity (yes)
    part = SequenceAt (parts, i)
    mean = ReduceMean <axes = [0], keepdims = 1> (part)
    longer = SequenceInsert (so_far, mean)
  }>
  means = ConcatFromSequence <axis = 0> (rows)
}
"""

CUT_BOUNDS = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[s,4] x, int64[b] bounds, int64 count) => (float[m,4] sums) {
  yes = Constant <value = bool {1}> ()
  sums = Loop (count, yes) <body = step (int64 i, bool go) => (bool again, float[4] sum) {
    again = Identity (go)
    flat = Constant <value_ints = [-1]> ()
    one = Constant <value_ints = [1]> ()
    two = Constant <value_ints = [2]> ()
    first = Reshape (i, flat)
    second = Add (first, one)
    third = Add (first, two)
    begin = Slice (bounds, first, second)
    end = Slice (bounds, second, third)
    rows = Slice (x, begin, end)
    axes = Constant <value_ints = [0]> ()
    sum = ReduceSum <keepdims = 0> (rows, axes)
  }>
}
"""

EXPERTS = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[7,4] x, float[4,5] w) => (float[m,5] y) {
  one = Constant <value = int64[1] {1}> ()
  best, expert = TopK (x, one)
  flat = Constant <value_ints = [-1]> ()
  experts = Reshape (expert, flat)
  zeros = Constant <value = int64[4] {0, 0, 0, 0}> ()
  ones = Constant <value = int64[7] {1, 1, 1, 1, 1, 1, 1}> ()
  counts = ScatterElements <axis = 0, reduction = "add"> (zeros, experts, ones)
  all = Constant <value = int64[1] {7}> ()
  sorted, order = TopK <largest = 0> (experts, all)
  rows = Gather (x, order)
  a, b, c, d = Split <axis = 0> (rows, counts)
  p = MatMul (a, w)
  q = MatMul (b, w)
  r = MatMul (c, w)
  s = MatMul (d, w)
  y = Concat <axis = 0> (p, q, r, s)
}
"""

# Splits into any number of pieces: lengths given at run time, one length for all, and one that does not divide an open extent.
CUT_ANYHOW = """
<ir_version: 10, opset_import: ["" : 18]>
cut_anyhow (float[s,3] x, float[2,t] w, int64[k] lengths, int64 size, int64 at) =>
    (float[a,3] piece, float[b,3] joined, int64 count, float[2,c] last, float[2,d] chunked, int64 chunk_count, float[e,3] first) {
  pieces = SplitToSequence <axis = 0> (x, lengths)
  piece = SequenceAt (pieces, at)
  joined = ConcatFromSequence <axis = 0> (pieces)
  count = SequenceLength (pieces)
  chunks = SplitToSequence <axis = 1> (w, size)
  minus = Constant <value = int64 {-1}> ()
  last = SequenceAt (chunks, minus)
  chunked = ConcatFromSequence <axis = -1> (chunks)
  chunk_count = SequenceLength (chunks)
  four = Constant <value = int64 {4}> ()
  zero = Constant <value = int64 {0}> ()
  fours = SplitToSequence <axis = 0> (x, four)
  first = SequenceAt (fours, zero)
}
"""

# Pieces whose lengths are known only at run time, which are mapped, joined along another axis, and stacked.
MAPPED_PIECES = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[s,3] x, float[2,t] w, int64[k] lengths, int64 size, int64 at) =>
    (float[a,3] joined, float[b,c] sums, float[d,3] one, float[2,e] wide, float[f,g] across, float[h,i,3] stacked, float[2,j] last, int64 count) {
  pieces = SplitToSequence <axis = 0> (x, lengths)
  scaled, sums_of = SequenceMap (pieces) <body = each (float[l,3] u) => (float[m,3] v, float[n] sum) {
    zero = Constant <value = int64[1] {0}> ()
    v = Softmax <axis = 0> (u)
    sum = ReduceSum <keepdims = 0> (u, zero)
  }>
  joined = ConcatFromSequence <axis = 0> (scaled)
  sums = ConcatFromSequence <axis = 0, new_axis = 1> (sums_of)
  one = SequenceAt (scaled, at)
  count = SequenceLength (scaled)
  chunks = SplitToSequence <axis = 1> (w, size)
  squared = SequenceMap (chunks) <body = square (float[o,p] r) => (float[q,z] t2) {
    t2 = Mul (r, r)
  }>
  wide = ConcatFromSequence <axis = 1> (squared)
  minus = Constant <value = int64 {-1}> ()
  last = SequenceAt (squared, minus)
  equal = SplitToSequence <axis = 0> (x, size)
  across = ConcatFromSequence <axis = -1> (equal)
  stacked = ConcatFromSequence <axis = 1, new_axis = 1> (equal)
}
"""

# Elements of different shapes are inserted, removed and read at positions known only at run time.
EDITED = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[2,a] x, float[2,b] y, float[2,c] z, int64 put, int64 out, int64 at) =>
    (float[d,e] joined, float[f,g] one, float[h,i] first, int64 length, float[j,k] rest) {
  two = SequenceConstruct (x, y)
  three = SequenceInsert (two, z, put)
  four = SequenceInsert (three, x)
  fewer = SequenceErase (four, out)
  joined = ConcatFromSequence <axis = 1> (fewer)
  one = SequenceAt (fewer, at)
  zero = Constant <value = int64 {0}> ()
  first = SequenceAt (fewer, zero)
  length = SequenceLength (fewer)
  shorter = SequenceErase (fewer)
  rest = ConcatFromSequence <axis = -1> (shorter)
}
"""

# A loop whose iterations append pieces of any lengths, some of them conditionally, and remove the first piece.
COLLECTED = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[s,3] x, int64[k] lengths, float limit) => (float[a,3] all, float[b,3] few, int64 number, float[c] flat, float[d,3] queue) {
  yes = Constant <value = bool {1}> ()
  one = Constant <value = int64 {1}> ()
  pieces = SplitToSequence <axis = 0> (x, lengths)
  count = SequenceLength (pieces)
  empty = SequenceEmpty <dtype = 1> ()
  first = SequenceConstruct (x)
  start = SequenceInsert (first, x)
  doubled, chosen, left = Loop (count, yes, empty, first, start) <body = step (int64 i, bool go, seq(float[l,3]) so_far, seq(float[m,3]) kept, seq(float[n,3]) waiting) =>
      (bool again, seq(float[o,3]) longer, seq(float[p,3]) more, seq(float[q,3]) still) {
    again = Identity (go)
    piece = SequenceAt (pieces, i)
    twice = Add (piece, piece)
    longer = SequenceInsert (so_far, twice)
    largest = ReduceMax <keepdims = 0> (piece)
    is_large = Greater (largest, limit)
    more = If (is_large) <then_branch = take () => (seq(float[r,3]) with) { with = SequenceInsert (kept, piece) },
                          else_branch = leave () => (seq(float[t,3]) without) { without = Identity (kept) }>
    zero = Constant <value = int64 {0}> ()
    fewer = SequenceErase (waiting, zero)
    still = SequenceInsert (fewer, twice)
  }>
  all = ConcatFromSequence <axis = 0> (doubled)
  few = ConcatFromSequence <axis = 0> (chosen)
  number = SequenceLength (chosen)
  last = SequenceAt (doubled, one)
  minus = Constant <value_ints = [-1]> ()
  flat = Reshape (last, minus)
  queue = ConcatFromSequence <axis = 0> (left)
}
"""

# Branches that make sequences of different lengths, and an optional that may be empty.
EITHER = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[a,2] x, float[b,2] y, bool flag) => (float[c,2] joined, int64 count, bool has, float[d,2] value) {
  some = If (flag) <then_branch = three () => (seq(float[e,2]) u) { u = SequenceConstruct (x, y, x) },
                    else_branch = one () => (seq(float[f,2]) v) { v = SequenceConstruct (y) }>
  joined = ConcatFromSequence <axis = 0> (some)
  count = SequenceLength (some)
  maybe = If (flag) <then_branch = is () => (optional(float[g,2]) m) { m = Optional (x) },
                     else_branch = none () => (optional(float[h,2]) n) { n = Optional <type = float[h,2]> () }>
  has = OptionalHasElement (maybe)
  value = If (has) <then_branch = get () => (float[i,2] w) { w = OptionalGetElement (maybe) },
                    else_branch = other () => (float[j,2] z) { z = Neg (y) }>
}
"""

# A queue: each iteration removes the first element and appends its halves, or the element itself if it has one row.
QUEUED = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[s,3] x, int64 turns) => (float[a,3] all, int64 count) {
  yes = Constant <value = bool {1}> ()
  zero = Constant <value = int64 {0}> ()
  first = SequenceConstruct (x)
  queue = Loop (turns, yes, first) <body = step (int64 i, bool go, seq(float[l,3]) waiting) => (bool again, seq(float[m,3]) still) {
    again = Identity (go)
    head = SequenceAt (waiting, zero)
    fewer = SequenceErase (waiting, zero)
    extents = Shape (head)
    rows = Gather (extents, zero)
    one = Constant <value = int64 {1}> ()
    some = Greater (rows, one)
    still = If (some) <then_branch = halves () => (seq(float[n,3]) more) {
      two = Constant <value = int64 {2}> ()
      half = Div (rows, two)
      begin = Constant <value_ints = [0]> ()
      most = Constant <value_ints = [1000]> ()
      middle = Unsqueeze (half, begin)
      upper = Slice (head, begin, middle, begin)
      lower = Slice (head, middle, most, begin)
      with = SequenceInsert (fewer, upper)
      more = SequenceInsert (with, lower)
    }, else_branch = whole () => (seq(float[o,3]) same) { same = SequenceInsert (fewer, head) }>
  }>
  all = ConcatFromSequence <axis = 0> (queue)
  count = SequenceLength (queue)
}
"""

# An output that is a sequence of unknown length becomes two tensors.
LEAVING = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[s,3] x, int64[k] lengths) => (seq(float[m,3]) pieces, seq(float[p,3]) grown, float[n] last) {
  pieces = SplitToSequence <axis = 0> (x, lengths)
  count = SequenceLength (pieces)
  yes = Constant <value = bool {1}> ()
  empty = SequenceEmpty <dtype = 1> ()
  grown = Loop (count, yes, empty) <body = step (int64 i, bool go, seq(float[q,3]) so_far) => (bool again, seq(float[r,3]) longer) {
    again = Identity (go)
    piece = SequenceAt (pieces, i)
    twice = Concat <axis = 0> (piece, piece)
    longer = SequenceInsert (so_far, twice)
  }>
  minus = Constant <value = int64 {-1}> ()
  final = SequenceAt (pieces, minus)
  flat = Constant <value_ints = [-1]> ()
  last = Reshape (final, flat)
}
"""

# Rows whose length is known only at run time, but equal for all rows: as a scan output and as a sequence that is stacked. The loop ends by its condition.
STACKED = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[b,9,4] x, float[b] weight, int64 limit) => (float[t,r,4] rows, float[u,q] again) {
  yes = Constant <value = bool {1}> ()
  start = Constant <value = int64 {0}> ()
  last_axis = Constant <value_ints = [-1]> ()
  empty = SequenceEmpty <dtype = 1> ()
  last, pieces, rows = Loop (, yes, start, empty) <body = step (int64 i, bool go, int64 at, seq(float[k]) so_far) =>
      (bool more, int64 next, seq(float[l]) longer, float[m,4] row) {
    one = Constant <value = int64 {1}> ()
    zero = Constant <value_ints = [0]> ()
    next = Add (at, one)
    more = Less (next, limit)
    relued = Relu (weight)
    found = NonZero (relued)
    places = Squeeze (found, zero)
    column = Gather <axis = 1> (x, at)
    row = Gather <axis = 0> (column, places)
    sums = ReduceSum <keepdims = 0> (row, last_axis)
    longer = SequenceInsert (so_far, sums)
  }>
  again = ConcatFromSequence <axis = 0, new_axis = 1> (pieces)
}
"""

# torch.jit's repeat_interleave: the repetitions and the rows are split into pieces of one element, and a loop expands each row.
ONES = """
<ir_version: 10, opset_import: ["" : 18]>
g (int64[n] repetitions, float[n,3] x) => (float[m,3] y, float[k,3] single) {
  count_of = Shape (repetitions)
  ones = ConstantOfShape <value = int64[1] {1}> (count_of)
  pieces = SplitToSequence <axis = 0> (repetitions, ones)
  rows = SplitToSequence <axis = 0> (x, ones)
  count = Squeeze (count_of)
  yes = Constant <value = bool {1}> ()
  empty = SequenceEmpty <dtype = 1> ()
  repeated = Loop (count, yes, empty) <body = step (int64 i, bool go, seq(float[p,3]) before) => (bool more, seq(float[q,3]) after) {
    width = Constant <value_ints = [3]> ()
    more = Identity (go)
    times = SequenceAt (pieces, i)
    row = SequenceAt (rows, i)
    shape = Concat <axis = 0> (times, width)
    wide = Expand (row, shape)
    after = SequenceInsert (before, wide)
  }>
  y = ConcatFromSequence <axis = 0> (repeated)
  one = Constant <value = int64 {1}> ()
  alone = SplitToSequence <axis = 0> (x, one)
  single = ConcatFromSequence <axis = 0> (alone)
}
"""

MODELS = {
    "ones": (ONES, [{"n": 3, "repetitions": [2, 1, 3]}, {"n": 5, "repetitions": [1, 1, 1, 1, 1]}, {"n": 2, "repetitions": [4, 0]}]),
    "stacked": (STACKED, [{"b": 5, "limit": 4}, {"b": 16, "limit": 9}, {"b": 7, "limit": 0}]),
    "queued": (QUEUED, [{"s": 8, "turns": 6}, {"s": 3, "turns": 9}, {"s": 1, "turns": 2}]),
    "leaving": (LEAVING, [{"s": 6, "lengths": [1, 2, 3]}, {"s": 5, "lengths": [4, 1]}]),
    "mapped_pieces": (MAPPED_PIECES, [{"s": 6, "t": 7, "lengths": [1, 2, 3], "size": 3, "at": 1}, {"s": 3, "t": 4, "lengths": [3], "size": 3, "at": -1},
                                      {"s": 9, "t": 8, "lengths": [4, 1, 3, 1], "size": 1, "at": 2}]),
    "edited": (EDITED, [{"a": 1, "b": 2, "c": 3, "put": 1, "out": 0, "at": 1}, {"a": 4, "b": 2, "c": 1, "put": -1, "out": -1, "at": -2},
                        {"a": 2, "b": 5, "c": 3, "put": 2, "out": 3, "at": 0}, {"a": 2, "b": 5, "c": 3, "put": -2, "out": -4, "at": 2}]),
    "collected": (COLLECTED, [{"s": 6, "lengths": [1, 2, 3], "limit": 0.9}, {"s": 9, "lengths": [4, 1, 1, 3], "limit": -2},
                              {"s": 30, "lengths": [1, 2, 3, 4, 5, 6, 7, 2], "limit": 0.8}]),
    "either": (EITHER, [{"a": 2, "b": 3, "flag": True}, {"a": 2, "b": 3, "flag": False}, {"a": 1, "b": 5, "flag": True}]),
    "cut_anyhow": (CUT_ANYHOW, [{"s": 6, "t": 7, "lengths": [1, 2, 3], "size": 3, "at": 1}, {"s": 3, "t": 4, "lengths": [3], "size": 9, "at": -1},
                                {"s": 9, "t": 8, "lengths": [4, 0, 4, 1], "size": 4, "at": 1}]),
    "mapped": (MAPPED, [{"s": 3, "a": 5, "t": 9, "b": 4, "count": 7}, {"s": 1, "a": 2, "t": 2, "b": 3, "count": 1}]),
    "bags": (BAGS, [{"s": 7}, {"s": 30}, {"s": 2}]),
    "sequences": (SEQUENCES, [{"a": 4, "b": 3, "at": 1}, {"a": 2, "b": 5, "at": -1}]),
    "appending": (APPENDING, [{"s": 6, "count": 5}, {"s": 3, "count": 1}]),
    "unrolled": (UNROLLED, [{"a": 4}, {"a": 1}]),
    "growing": (GROWING, [{"s": 6, "count": 6}, {"s": 5, "count": 1}, {"s": 5, "count": 0}]),
    "until": (UNTIL, [{"s": 6, "limit": 9}, {"s": 2, "limit": 100}, {"s": 2, "limit": -1},
                      {"s": 2, "limit": 700}, {"s": 3, "limit": 1000000}]),
    "numbered": (NUMBERED, [{"count": 3}, {"count": 0}, {"count": 1000}]),
    "appended": (APPENDED, [{"s": 5, "count": 4, "limit": 35}, {"s": 2, "count": 0, "limit": -1}, {"s": 3, "count": 700, "limit": 6405},
                            {"s": 3, "count": 64, "limit": 1000000}]),
    "last_row": (LAST_ROW, [{"s": 6, "limit": 5}, {"s": 2, "limit": 100}, {"s": 3, "limit": -1}]),
    "branches_grow": (BRANCHES, [{"s": 6, "flag": True}, {"s": 5, "flag": False}, {"s": 7, "flag": True}]),
    "nested_branches": (NESTED_BRANCHES, [{"s": 6, "flag": f, "inner": i} for f in (True, False) for i in (True, False)] + [{"s": 3, "flag": True, "inner": True}]),
    "suppression": (SUPPRESSION, [{"n": 400, "flag": True}, {"n": 9, "flag": False}, {"n": 1, "flag": True}]),
    "optionals": (OPTIONALS, [{"a": 4}, {"a": 1}]),
    "pieces": (PIECES, [{"a": 4}, {"a": 1}]),
    "cut_bounds": (CUT_BOUNDS, [{"s": 6, "b": 4, "count": 3}, {"s": 6, "b": 5, "count": 1}]),
    "experts": (EXPERTS, [{}]),
    "empty_branch": (EMPTY_BRANCH, [{"n": 3}, {"n": 0}]),
}

# Feeds with which a run must fail, and words of the message.
FAILING = {
    "mapped_pieces": [({"s": 7, "t": 7, "lengths": [1, 2, 4], "size": 3, "at": 0}, "is out of range")],
    "edited": [({"a": 1, "b": 2, "c": 3, "put": 3, "out": 0, "at": 1}, "is out of range"),
               ({"a": 1, "b": 2, "c": 3, "put": -3, "out": 0, "at": 1}, "is out of range"),
               ({"a": 1, "b": 2, "c": 3, "put": 0, "out": 4, "at": 1}, "is out of range"),
               ({"a": 1, "b": 2, "c": 3, "put": 0, "out": 0, "at": 3}, "is out of range")],
    "cut_anyhow": [({"s": 6, "t": 7, "lengths": [1, 2], "size": 3, "at": 0}, "is out of range"),
                   ({"s": 6, "t": 7, "lengths": [5, 2], "size": 3, "at": 0}, "is out of range"),
                   ({"s": 6, "t": 7, "lengths": [4, 2], "size": 3, "at": 2}, "is out of range")],
}
