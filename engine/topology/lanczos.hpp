#pragma once

#include <functional>
#include <optional>

namespace acid {

/// out = A·in for a symmetric positive semidefinite A that maps mean-zero vectors to themselves.
using SymmetricOperator = std::function<void(const double* in, double* out)>;

/// The largest eigenvalue of A on vectors of mean zero, `size` ≥ 2: Lanczos with full
/// reorthogonalisation, restarted with its best vector. The start is fixed, so the result is a
/// function of A.
///
/// Stops when the error is at most `tolerance` × |eigenvalue − origin|, so that a small eigenvalue
/// λ found as that of c·I − A (origin c) still has its digits. Absent when this does not happen.
/// Graphs of high symmetry have few distinct eigenvalues; the Krylov space then closes after as
/// many steps, and the result is exact. Memory: 80 vectors.
std::optional<double> largest_eigenvalue(int size, const SymmetricOperator& apply, double origin,
                                         double tolerance);

}  // namespace acid
