#include "engine/topology/lanczos.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "engine/base/rng.hpp"

namespace acid {
namespace {

constexpr Eigen::Index kSteps = 80;
constexpr int kRestarts = 200;

/// Removes the mean and the components along `basis`; a second pass removes what rounding left.
void orthogonalise(Eigen::VectorXd& vector, const Eigen::Ref<const Eigen::MatrixXd>& basis) {
  for (int pass = 0; pass < 2; ++pass) {
    vector.array() -= vector.mean();
    vector -= basis * (basis.transpose() * vector);
  }
}

/// The largest eigenvalue of the projection of A on a Krylov space, its vector there, and a bound
/// on its distance to the eigenvalue of A.
struct Ritz {
  double value = 0;
  double error = 0;
  Eigen::VectorXd coordinates;
};

Ritz largest_ritz(const Eigen::VectorXd& diagonal, const Eigen::VectorXd& off_diagonal) {
  const Eigen::Index steps = diagonal.size();
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal, off_diagonal.head(steps - 1));
  Ritz ritz{solver.eigenvalues()[steps - 1], 0, solver.eigenvectors().col(steps - 1)};
  const double residual = off_diagonal[steps - 1] * std::abs(ritz.coordinates[steps - 1]);
  const double gap = steps > 1 ? ritz.value - solver.eigenvalues()[steps - 2] : 0;
  ritz.error = gap > residual ? residual * residual / gap : residual;
  return ritz;
}

/// Builds one Krylov space, from `start` of mean zero and length 1, which becomes its best vector.
Ritz lanczos(const SymmetricOperator& apply, double origin, double tolerance,
             Eigen::MatrixXd& basis, Eigen::VectorXd& start) {
  const Eigen::Index most = basis.cols();
  Eigen::VectorXd diagonal(most), off_diagonal(most), next(start.size());
  basis.col(0) = start;
  double norm = 0;
  for (Eigen::Index k = 0;; ++k) {
    apply(basis.col(k).data(), next.data());
    diagonal[k] = basis.col(k).dot(next);
    norm = std::max({norm, std::abs(diagonal[k]), next.norm()});
    orthogonalise(next, basis.leftCols(k + 1));
    off_diagonal[k] = next.norm();
    const Eigen::Index steps = k + 1;
    const bool closed = off_diagonal[k] <= 1e-14 * norm;
    if (closed || steps == most || steps % 8 == 0) {
      Ritz ritz = largest_ritz(diagonal.head(steps), off_diagonal.head(steps));
      if (closed) ritz.error = 0;
      const bool converged = ritz.error <= tolerance * std::abs(ritz.value - origin);
      if (converged || steps == most) {
        start = basis.leftCols(steps) * ritz.coordinates;
        return ritz;
      }
    }
    basis.col(steps) = next / off_diagonal[k];
  }
}

}  // namespace

std::optional<double> largest_eigenvalue(int size, const SymmetricOperator& apply, double origin,
                                         double tolerance) {
  Eigen::VectorXd start(size);
  Stream stream(0);
  for (double& entry : start) entry = stream.normal();
  start.array() -= start.mean();
  // The space of mean-zero vectors has one dimension less than there are workers.
  Eigen::MatrixXd basis(size, std::min<Eigen::Index>(size - 1, kSteps));
  for (int restart = 0; restart < kRestarts; ++restart) {
    start.array() -= start.mean();
    start.normalize();
    const Ritz ritz = lanczos(apply, origin, tolerance, basis, start);
    if (ritz.error <= tolerance * std::abs(ritz.value - origin)) return ritz.value;
  }
  return std::nullopt;
}

}  // namespace acid
