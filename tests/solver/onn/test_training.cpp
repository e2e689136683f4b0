// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Dense>
#include <catch2/catch.hpp>

#include "solver/backend/registry.hpp"
#include "solver/error.hpp"
#include "solver/io/hdf5_file.hpp"
#include "solver/kernel/simd_kernels.hpp"
#include "solver/onn/accuracy.hpp"
#include "solver/onn/training/trainer.hpp"
#include "solver/optinc/chip.hpp"
#include "tests/apps/cli_run.hpp"

namespace optinc {
namespace {

using Catch::Matchers::Contains;

const SimdKernels<float>& kernels() { return cpu_instruction_sets().front().f32; }

const Backend& backend() {
  static const std::unique_ptr<Backend> instance = cpu_backend_entry("auto").create(Precision::f32);
  return *instance;
}

const Backend& exact_backend() {
  static const std::unique_ptr<Backend> instance = cpu_backend_entry("auto").create(Precision::f64);
  return *instance;
}

/// Two servers, four bits: 49 codes.
TrainingOptions small_training(Mapping mapping, int segment = 0) {
  TrainingOptions options;
  options.format = make_code_format(2, 4);
  const std::vector<int> widths = {2, 32, 32, 2};
  options.layers =
      plan_layers(options.format, widths, Activation::relu, 1,
                  std::vector<LayerMapping>(3, {mapping, segment}), BlockConstraint::retraction);
  options.steps = 3000;
  options.batch = 98;
  options.learning_rate = 1e-2;
  options.check_interval = 100;
  options.check = {.max_codes = 1000, .seed = 1};
  options.target_margin_digits = 0.3;
  return options;
}

ChipErrorOptions phase_errors(double sigma_rad) {
  ChipErrorOptions errors;
  errors.imperfections.phase_fabrication_sigma_rad = sigma_rad;
  errors.mapping.mapping = std::nullopt;
  return errors;
}

bool never() { return false; }
void ignore(const TrainingState&) {}

std::vector<Eigen::MatrixXd> weights_of(const Trainer& trainer) {
  std::vector<Eigen::MatrixXd> weights;
  for (const NetworkLayer& layer : trainer.network().layers) weights.push_back(layer.weight);
  return weights;
}

std::vector<Eigen::MatrixXd> trained(const TrainingOptions& options, unsigned threads = 1) {
  Trainer trainer(options, kernels(), backend());
  trainer.run(threads, never, ignore);
  return weights_of(trainer);
}

}  // namespace

TEST_CASE("a round of the alphabet has every code once, in a new order", "[training]") {
  const CodeFormat format = make_code_format(2, 4);
  CodeStream stream(format, {}, 10, 3);
  std::vector<CodeKey> drawn;
  for (std::uint64_t step = 0; step < 49; ++step) {
    for (const CodeKey code : stream.batch(step)) drawn.push_back(code);
  }
  REQUIRE(drawn.size() == 490);
  for (std::size_t round = 0; round < 10; ++round) {
    std::vector<CodeKey> codes(drawn.begin() + static_cast<std::ptrdiff_t>(49 * round),
                               drawn.begin() + static_cast<std::ptrdiff_t>(49 * (round + 1)));
    if (round > 0) CHECK_FALSE(std::equal(codes.begin(), codes.end(), drawn.begin()));
    std::sort(codes.begin(), codes.end());
    for (std::size_t i = 0; i < codes.size(); ++i) CHECK(codes[i] == i);
  }
  // A batch is a function of its number: any order of asking, any stream of the same seed.
  CHECK(stream.batch(3) == CodeStream(format, {}, 10, 3).batch(3));
  CHECK(stream.batch(3) != CodeStream(format, {}, 10, 4).batch(3));
}

TEST_CASE("places in the order of the alphabet are uniform", "[training]") {
  // Chi-square of where code 0 comes, over 4,900 rounds with 48 degrees of freedom: mean 48,
  // standard deviation 9.8; beyond 120 with a probability of 3e-8.
  const CodeFormat format = make_code_format(2, 4);
  CodeStream stream(format, {}, 49, 3);
  std::vector<double> count(49, 0);
  constexpr int rounds = 4900;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::vector<CodeKey> codes = stream.batch(round);
    ++count[static_cast<std::size_t>(std::find(codes.begin(), codes.end(), 0U) - codes.begin())];
  }
  double chi_square = 0;
  for (const double seen : count) chi_square += (seen - 100) * (seen - 100) / 100;
  CHECK(chi_square < 120);
  CHECK(chi_square > 10);
}

TEST_CASE("trace codes come as often as in the traces", "[training]") {
  const CodeFormat format = make_code_format(2, 4);
  const CodeMixture mixture{
      .traces = {{.codes = {3, 40}, .occurrences = {1, 3}}, {.codes = {7}, .occurrences = {1000}}},
      .trace_share = 0.4};
  CodeStream stream(format, mixture, 100, 3);
  CHECK(stream.alphabet_part() == 60);
  std::vector<int> count(49, 0);
  constexpr int steps = 2000;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::vector<CodeKey> codes = stream.batch(step);
    REQUIRE(codes.size() == 100);
    for (std::size_t i = 60; i < codes.size(); ++i) ++count[codes[i]];
  }
  // 40,000 draws of the first trace, a quarter of code 3: standard deviation 86.6; 6.1 of them.
  CHECK(count[7] == 20 * steps);
  CHECK(count[3] + count[40] == 20 * steps);
  CHECK(std::abs(count[3] - 10000) < 530);
}

TEST_CASE("large alphabets are drawn from with uniform levels", "[training]") {
  const CodeFormat format = make_code_format(64, 8);  // 193^4 codes
  REQUIRE(format.alphabet_size() > static_cast<double>(CodeStream::largest_permutation));
  CodeStream stream(format, {}, 1000, 3);
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(4);
  for (std::uint64_t step = 0; step < 100; ++step) {
    sum += network_inputs(format, stream.batch(step)).rowwise().sum();
  }
  // Mean of 100,000 uniform levels in 0 .. 3: standard error 0.87 / 316.
  for (int input = 0; input < 4; ++input) CHECK(std::abs(sum(input) / 1e5 - 1.5) < 0.017);
  CHECK(stream.batch(1) != stream.batch(2));
}

TEST_CASE("small networks learn all codes for every mapping", "[training]") {
  for (const auto& [mapping, segment] :
       {std::pair{Mapping::svd, 0}, std::pair{Mapping::real_part, 0},
        std::pair{Mapping::segmented, 0}, std::pair{Mapping::segmented, 8}}) {
    const TrainingOptions options = small_training(mapping, segment);
    Trainer trainer(options, kernels(), backend());
    trainer.run(1, never, ignore);
    INFO(trainer.state().step << " steps, margin " << trainer.state().accuracy->margin_digits());
    CHECK(trainer.finished());
    CHECK(trainer.state().reached_target);
    // Through decomposed meshes too: nothing of it is lost by the mapping it was made for.
    const Network network = trainer.network();
    CHECK(network.layers[1].mapping == LayerMapping{mapping, segment});
    MappingOptions own;
    own.mapping = std::nullopt;
    const MappedNetwork mapped = map_network(network, own);
    const std::vector<RealLayer> optics = ideal_layers(mapped, exact_backend());
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
      CHECK((optics[i].weight - network.layers[i].weight).norm() <
            1e-10 * network.layers[i].weight.norm());
    }
    const NetworkAccuracy accuracy =
        measure_accuracy(optics, network.format, exact_backend(), {.max_codes = 100});
    CHECK(accuracy.correct == 49);
    CHECK(accuracy.margin_digits() > 0.29);
  }
}

TEST_CASE("projection ends on the blocks and learns all codes", "[training]") {
  TrainingOptions options = small_training(Mapping::segmented, 4);
  options.constraint = BlockConstraint::projection;
  options.layers = plan_layers(options.format, {2, 32, 32, 2}, Activation::relu, 1,
                               std::vector<LayerMapping>(3, {Mapping::segmented, 4}),
                               BlockConstraint::projection);
  options.projection_interval = 10;
  options.target_margin_digits = 0.5;
  Trainer trainer(options, kernels(), backend());
  trainer.run(1, never, ignore);
  CHECK(trainer.state().accuracy->correct == 49);
  for (const NetworkLayer& layer : trainer.network().layers) {
    for (Eigen::Index row = 0; row + 4 <= layer.weight.rows(); row += 4) {
      for (Eigen::Index column = 0; column + 4 <= layer.weight.cols(); column += 4) {
        // Rows of Sigma U are orthogonal.
        const Eigen::Matrix4d block = layer.weight.block<4, 4>(row, column);
        Eigen::Matrix4d gram = block * block.transpose();
        const double scale = gram.trace();
        gram.diagonal().setZero();
        CHECK(gram.norm() < 1e-5 * scale);
      }
    }
  }
}

TEST_CASE("a training is the same for any threads and with interruptions", "[training]") {
  for (const bool noisy : {false, true}) {
    TrainingOptions options = small_training(Mapping::segmented, 8);
    options.steps = 60;
    options.check_interval = 20;
    options.batch = 300;
    options.mixture = {.traces = {{.codes = {3, 40}, .occurrences = {1, 3}}}, .trace_share = 0.3};
    if (noisy) {
      options.chip_errors = phase_errors(0.02);
      options.chip_errors->interval = 7;
      options.chip_errors->chips = 3;
    }
    const std::vector<Eigen::MatrixXd> whole = trained(options, 1);
    CHECK(whole == trained(options, 2));
    CHECK(whole == trained(options, 5));
    const test::TemporaryFolder folder;
    const std::filesystem::path file = folder / "resume.h5";
    for (int stops = 1; stops <= 3; ++stops) {
      std::filesystem::remove(file);
      bool done = false;
      while (!done) {
        Trainer trainer(options, kernels(), backend());
        if (std::filesystem::exists(file)) trainer.restore(file, "id");
        int asked = 0;
        trainer.run(
            2,
            [&] {
              const bool stop = ++asked > stops;
              if (stop) trainer.save(file, "id");
              return stop;
            },
            ignore);
        done = trainer.finished();
        if (done) CHECK(whole == weights_of(trainer));
      }
    }
  }
}

TEST_CASE("every training option changes the network", "[training]") {
  TrainingOptions base = small_training(Mapping::segmented, 8);
  base.steps = 20;
  const std::vector<Eigen::MatrixXd> weights = trained(base);
  const auto check_changes = [&](const std::function<void(TrainingOptions&)>& change) {
    TrainingOptions options = base;
    change(options);
    CHECK(trained(options) != weights);
  };
  check_changes([](TrainingOptions& options) { options.seed = 2; });
  check_changes([](TrainingOptions& options) { options.steps = 21; });
  check_changes([](TrainingOptions& options) { options.batch = 97; });
  check_changes([](TrainingOptions& options) { options.learning_rate = 9e-3; });
  check_changes([](TrainingOptions& options) { options.loss.exponent = 4; });
  check_changes([](TrainingOptions& options) { options.loss.free_digits = 0.1; });
  check_changes([](TrainingOptions& options) {
    options.mixture = {.traces = {{.codes = {3}, .occurrences = {1}}}, .trace_share = 0.5};
  });
  check_changes([](TrainingOptions& options) { options.chip_errors = phase_errors(0.01); });
  check_changes(
      [](TrainingOptions& options) { options.layers[0].activation = Activation::clipped_relu; });
}

TEST_CASE("chips that are trained against differ by layer, chip and draw as in a sweep",
          "[training]") {
  NetworkLayer layer{.weight = Eigen::MatrixXd::Random(16, 16),
                     .bias = Eigen::VectorXd::Zero(16),
                     .activation = Activation::identity,
                     .mapping = {Mapping::svd, 8}};
  ChipErrorOptions options = phase_errors(0.01);
  options.chips = 40;
  const ChipErrors errors(options, exact_backend(), 5);
  const std::vector<std::vector<float>> changes = errors.draw(layer, 0, 0);
  REQUIRE(changes.size() == 40);
  CHECK(changes[0] != changes[1]);
  CHECK(errors.draw(layer, 0, 0) == changes);
  CHECK(errors.draw(layer, 1, 0)[0] != changes[0]);
  CHECK(errors.draw(layer, 0, 1)[0] != changes[0]);
  // The error of phi and of the screen turns a real matrix into an imaginary one; theta turns two
  // rows by half its error. So each of two meshes of n modes moves the real part by
  // sigma ||W||_F sqrt((n - 1) / 4), both by sqrt((n - 1) / 2). Within 10 %: 4 blocks, 40 chips.
  double squares = 0;
  for (const std::vector<float>& change : changes) {
    for (const float value : change)
      squares += static_cast<double>(value) * static_cast<double>(value);
  }
  const double relative = std::sqrt(squares / 40) / layer.weight.norm();
  CHECK(relative == Approx(std::sqrt(3.5) * 0.01).epsilon(0.1));
  options.imperfections.phase_fabrication_sigma_rad = 0;
  for (const std::vector<float>& change :
       ChipErrors(options, exact_backend(), 5).draw(layer, 0, 0)) {
    for (const float value : change) CHECK(std::abs(value) < 1e-6F);
  }
}

TEST_CASE("noise-aware training gives networks that stand more", "[training]") {
  TrainingOptions options = small_training(Mapping::svd, 8);
  options.target_margin_digits = 0.5;
  options.steps = 1500;
  const auto wrong_codes = [&](const TrainingOptions& training) {
    Trainer trainer(training, kernels(), backend());
    trainer.run(1, never, ignore);
    CHECK(trainer.state().accuracy->correct == 49);
    MappingOptions own;
    own.mapping = std::nullopt;
    const MappedNetwork mapped = map_network(trainer.network(), own);
    const std::vector<Eigen::MatrixXcd> ideal = compose_ideal(mapped, exact_backend());
    ChipOptions chips;
    chips.imperfections.phase_fabrication_sigma_rad = 0.02;
    const NetworkOptics optics(mapped, ideal, exact_backend(), chips);
    std::uint64_t wrong = 0;
    for (std::uint32_t chip = 0; chip < 100; ++chip) {
      const NetworkAccuracy accuracy = measure_accuracy(
          optics.chip(99, chip).layers, training.format, exact_backend(), {.max_codes = 100});
      wrong += accuracy.codes - accuracy.correct;
    }
    return wrong;
  };
  const std::uint64_t plain = wrong_codes(options);
  options.chip_errors = phase_errors(0.02);
  const std::uint64_t aware = wrong_codes(options);
  INFO(plain << " wrong codes of 4,900 plain, " << aware << " noise-aware");
  CHECK(plain > 20);
  CHECK(10 * aware < 9 * plain);
}

TEST_CASE("wrong checkpoints are refused", "[training]") {
  TrainingOptions options = small_training(Mapping::svd);
  options.steps = 5;
  Trainer trainer(options, kernels(), backend());
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder / "bad.h5";
  trainer.save(file, "one");
  CHECK_THROWS_WITH(trainer.restore(file, "two"), Contains("other options"));
  CHECK_NOTHROW(trainer.restore(file, "one"));
  options.layers = plan_layers(options.format, {2, 31, 32, 2}, Activation::relu, 1,
                               std::vector<LayerMapping>(3), BlockConstraint::retraction);
  Trainer other(options, kernels(), backend());
  CHECK_THROWS_WITH(other.restore(file, "one"), Contains("another length"));
  Hdf5Writer writer;
  writer.write_string("/", "format", "optinc-network/1");
  writer.save(file);
  CHECK_THROWS_AS(trainer.restore(file, "one"), DataError);
}

TEST_CASE("a training that diverges says so", "[training]") {
  TrainingOptions options = small_training(Mapping::svd);
  options.learning_rate = 1e30;
  options.check_interval = 5;
  Trainer trainer(options, kernels(), backend());
  CHECK_THROWS_WITH(trainer.run(1, never, ignore), Contains("smaller learning rate"));
}

TEST_CASE("training options out of range are refused", "[training]") {
  const auto refuse = [](const std::function<void(TrainingOptions&)>& spoil) {
    TrainingOptions options = small_training(Mapping::svd);
    spoil(options);
    CHECK_THROWS_AS(Trainer(options, kernels(), backend()), ConfigError);
  };
  refuse([](TrainingOptions& options) { options.steps = 0; });
  refuse([](TrainingOptions& options) { options.batch = 0; });
  refuse([](TrainingOptions& options) { options.learning_rate = 0; });
  refuse([](TrainingOptions& options) { options.loss.exponent = 3; });
  refuse([](TrainingOptions& options) { options.mixture.trace_share = 1.5; });
  refuse([](TrainingOptions& options) { options.target_margin_digits = 0.6; });
  refuse([](TrainingOptions& options) { options.check_interval = 0; });
  const CodeFormat format = make_code_format(2, 4);
  refuse([](TrainingOptions& options) {
    options.layers = plan_layers(options.format, {2, 12, 8, 2}, Activation::relu, 1,
                                 std::vector<LayerMapping>(3, {Mapping::segmented, 8}),
                                 BlockConstraint::retraction);
  });
  CHECK_THROWS_AS(plan_layers(format, {3, 4, 2}, Activation::relu, 1, std::vector<LayerMapping>(2),
                              BlockConstraint::retraction),
                  ConfigError);
  CHECK_THROWS_AS(plan_layers(format, {2, 4, 3}, Activation::relu, 1, std::vector<LayerMapping>(2),
                              BlockConstraint::retraction),
                  ConfigError);
}

}  // namespace optinc
