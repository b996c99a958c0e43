#pragma once

namespace acid {

/// How an all-reduce moves a vector between n workers. network.hpp says how long that takes.
enum class AllReduceKind {
  ring,  // 2(n−1) steps round a ring, one n-th of the vector each, sent at once
  tree,  // up and down two mirrored binary trees, half of the vector each, in a stream
  recursive_doubling,  // ⌈log₂ n⌉ steps of whole vectors between pairs
  blocking,            // the ring with a rendezvous at every step
  hierarchical,        // rings inside the nodes, and one among them
  direct               // an n-th of the vector from each worker to each other, and the sums back
};

/// Vectors sent in one all-reduce, summed over the workers: 2(n−1); recursive doubling n·log₂ n,
/// and where n is no power of two m·log₂ m + 2(n − m) with m the largest below it.
double all_reduce_vectors(AllReduceKind kind, int workers);

}  // namespace acid
