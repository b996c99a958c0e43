// The exact evolution of means and second moments under Poisson clocks, built from the linear maps
// of the workers' own events.
#include <Eigen/Dense>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/topology/spectral.hpp"
#include "engine/topology/topology.hpp"
#include "tests/catch.hpp"
#include "tests/worker/workers.hpp"

using namespace acid;
using test::Workers;

namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

/// State z = (x₁ … xₙ, x̃₁ … x̃ₙ) of scalar workers.
struct Gossip {
  int n;
  test::Mixing mixing;
  std::vector<Edge> edges;  // weight = rate

  Gossip(const Topology& topology, double rate, bool accelerated) : n(topology.workers()) {
    const Spectral s = spectral(topology, rate);
    if (accelerated) mixing = {.alpha = 0.5, .alpha_tilde = s.alpha_tilde, .eta = s.eta};
    topology.for_each_edge([&](const Edge& edge) {
      edges.push_back({edge.i, edge.j, topology.edge_rate(edge.i, edge.j, rate)});
    });
  }

  // An exchange is z ← z − w(vᵀz); w is read off the workers' own exchange of (1, 0).
  Vector step(const Edge& edge) const {
    Workers pair(2, 1, test::Mixing{mixing.alpha, mixing.alpha_tilde, mixing.eta + 1e-300});
    pair[0].start(std::vector<double>{1.0});
    pair[1].start(std::vector<double>{0.0});
    BasicWorker<double>::exchange(pair[0], pair[1], 0);
    Vector w = Vector::Zero(2 * n);
    w[edge.i] = 1 - pair[0].x()[0];
    w[edge.j] = -pair[1].x()[0];
    w[n + edge.i] = 1 - pair[0].slot("x_tilde")[0];
    w[n + edge.j] = -pair[1].slot("x_tilde")[0];
    return w;
  }

  Matrix flow() const {  // of mixing
    Matrix b = Matrix::Zero(2 * n, 2 * n);
    for (int i = 0; i < n; ++i) {
      b(i, i) = b(n + i, n + i) = -mixing.eta;
      b(i, n + i) = b(n + i, i) = mixing.eta;
    }
    return b;
  }

  Matrix mean_generator() const {
    Matrix a = flow();
    for (const Edge& edge : edges) {
      const Vector w = step(edge);
      a.col(edge.i) -= edge.weight * w;
      a.col(edge.j) += edge.weight * w;
    }
    return a;
  }

  /// d/dt E[zzᵀ].
  Matrix derivative(const Matrix& p, const Matrix& b, const std::vector<Vector>& steps) const {
    Matrix d = b * p + p * b.transpose();
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const Vector& w = steps[e];
      const Vector pv = p.col(edges[e].i) - p.col(edges[e].j);
      const double vpv = pv[edges[e].i] - pv[edges[e].j];
      d += edges[e].weight * (vpv * w * w.transpose() - w * pv.transpose() - pv * w.transpose());
    }
    return d;
  }

  double consensus(const Matrix& p) const {
    return p.topLeftCorner(n, n).trace() - p.topLeftCorner(n, n).sum() / n;
  }
};

template <class State, class Derivative>
State runge_kutta(State state, double time, int steps, Derivative derivative) {
  const double h = time / steps;
  for (int k = 0; k < steps; ++k) {
    const State a = derivative(state), b = derivative(state + h / 2 * a),
                c = derivative(state + h / 2 * b), d = derivative(state + h * c);
    state += h / 6 * (a + 2 * b + 2 * c + d);
  }
  return state;
}

struct Row {
  std::string topology, algorithm;
  int workers = 0;
  double time = 0, ratio = 0;
};

std::vector<Row> consensus_decay() {
  std::ifstream file(SOURCE_ROOT "/tests/worker/data/consensus_decay.csv");
  REQUIRE(file);
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    Row row;
    std::string workers, time, ratio;
    std::getline(fields, row.topology, ',');
    std::getline(fields, workers, ',');
    std::getline(fields, row.algorithm, ',');
    std::getline(fields, time, ',');
    std::getline(fields, ratio, ',');
    row.workers = std::stoi(workers);
    row.time = std::stod(time);
    row.ratio = std::stod(ratio);
    rows.push_back(row);
  }
  return rows;
}

Topology named(const std::string& kind, int workers) {
  return make_topology(workers, {{"kind", kind}});
}

}  // namespace

TEST_CASE("CORRECTNESS 7: expected consensus follows the exact second moments at all times",
          "[release]") {
  const auto rows = consensus_decay();
  REQUIRE(rows.size() == 24);
  for (std::size_t first = 0; first < rows.size(); first += 6) {
    const Row& head = rows[first];
    const Gossip gossip(named(head.topology, head.workers), 1.0, head.algorithm == "a2cid2");
    const int n = gossip.n;
    Matrix p(2 * n, 2 * n);  // xᵢ i.i.d. of variance 1, x̃ = x
    p << Matrix::Identity(n, n), Matrix::Identity(n, n), Matrix::Identity(n, n),
        Matrix::Identity(n, n);
    const double start = gossip.consensus(p);
    const Matrix b = gossip.flow();
    std::vector<Vector> steps;
    for (const Edge& edge : gossip.edges) steps.push_back(gossip.step(edge));
    double time = 0;
    for (std::size_t k = first; k < first + 6; ++k) {
      p = runge_kutta(p, rows[k].time - time, static_cast<int>((rows[k].time - time) * 60),
                      [&](const Matrix& q) { return gossip.derivative(q, b, steps); });
      time = rows[k].time;
      INFO(head.topology << " " << head.algorithm << " at " << time);
      CHECK(gossip.consensus(p) / start == Approx(rows[k].ratio).epsilon(1e-4));
    }
  }
}

TEST_CASE("CORRECTNESS 8: the Fiedler mode decays as the closed form says", "[release]") {
  for (const int n : {8, 16}) {
    const Topology ring = named("ring", n);
    const Spectral s = spectral(ring, 1.0);
    Vector u(n);
    for (int i = 0; i < n; ++i) u[i] = std::cos(2 * M_PI * i / n);
    for (const bool accelerated : {false, true}) {
      const Gossip gossip(ring, 1.0, accelerated);
      const Matrix a = gossip.mean_generator();
      Vector z(2 * n);
      z << u, u;
      for (const double t : {1.0, 4.0, 20.0}) {
        const Vector at = runge_kutta(z, t, static_cast<int>(400 * t),
                                      [&](const Vector& y) -> Vector { return a * y; });
        const double eta = gossip.mixing.eta, at2 = 2 * gossip.mixing.alpha_tilde;
        const double x = accelerated
                             ? std::exp(-eta * t) * (at2 + (1 - at2) * std::exp(-t / (2 * s.chi1)))
                             : std::exp(-t / (2 * s.chi1));
        CHECK((at.head(n) - x * u).norm() < 1e-8);
        if (accelerated) CHECK((at.tail(n) - std::exp(-eta * t) * u).norm() < 1e-8);
      }
    }
  }
}

TEST_CASE("CORRECTNESS 9: the Lyapunov function is bounded by e^(−ηt)", "[release]") {
  const Topology ring = named("ring", 16);
  const Spectral s = spectral(ring, 1.0);
  const Gossip gossip(ring, 1.0, true);
  const int n = 16;
  Matrix lambda = Matrix::Zero(n, n);
  for (const Edge& edge : gossip.edges) {
    lambda(edge.i, edge.i) += edge.weight;
    lambda(edge.j, edge.j) += edge.weight;
    lambda(edge.i, edge.j) -= edge.weight;
    lambda(edge.j, edge.i) -= edge.weight;
  }
  const Matrix pi = Matrix::Identity(n, n) - Matrix::Constant(n, n, 1.0 / n);
  const Matrix pseudo_inverse = lambda.completeOrthogonalDecomposition().pseudoInverse();
  const auto value = [&](const Matrix& p) {
    return (pi * p.topLeftCorner(n, n)).trace() +
           (pseudo_inverse * p.bottomRightCorner(n, n)).trace() / s.chi1;
  };
  Matrix p(2 * n, 2 * n);
  p << Matrix::Identity(n, n), Matrix::Identity(n, n), Matrix::Identity(n, n),
      Matrix::Identity(n, n);
  const double start = value(p);
  const Matrix b = gossip.flow();
  std::vector<Vector> steps;
  for (const Edge& edge : gossip.edges) steps.push_back(gossip.step(edge));
  for (int t = 1; t <= 30; ++t) {
    p = runge_kutta(p, 1, 60, [&](const Matrix& q) { return gossip.derivative(q, b, steps); });
    CHECK(value(p) <= start * std::exp(-s.eta * t) * (1 + 1e-9));
  }
}
