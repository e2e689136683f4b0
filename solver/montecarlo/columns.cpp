// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/columns.hpp"

#include <cstddef>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "solver/montecarlo/chip_result.hpp"

namespace optinc {

namespace {

GradientColumn value_column(const char* name, const char* unit, const char* meaning,
                            double GradientMetrics::*member) {
  return {{name, unit, meaning}, MetricKind::value, [member](const GradientMetrics& metrics) {
            return metrics.*member;
          }};
}

GradientColumn rate_column(const char* name, const char* meaning, double GradientMetrics::*member) {
  GradientColumn column = value_column(name, "", meaning, member);
  column.kind = MetricKind::rate;
  return column;
}

GradientColumn error_share_column(std::size_t power) {
  const std::int64_t error = std::int64_t{1} << (2 * power);
  return {{fmt::format("error_share_pm{}", error), "",
           fmt::format("share of elements whose integer error is exactly +-{}", error)},
          MetricKind::rate,
          [power](const GradientMetrics& metrics) { return metrics.error_share_pm4[power]; }};
}

std::vector<GradientColumn> make_gradient_table() {
  using G = GradientMetrics;
  std::vector<GradientColumn> table = {
      rate_column("element_error_rate", "share of elements whose decoded integer differs from Q(v)",
                  &G::element_error_rate),
      rate_column("symbol_error_rate", "share of wrong PAM4 digits", &G::symbol_error_rate),
      rate_column("bit_error_rate", "share of wrong bits, digits Gray-mapped", &G::bit_error_rate),
      value_column("nmse", "", "sum (g_hat - g)^2 / sum g^2 against the exact float mean g",
                   &G::nmse),
      value_column("snr_db", "dB", "-10 log10 nmse", &G::snr_db),
      value_column("relative_l2", "", "|g_hat - g| / |g|", &G::relative_l2),
      value_column("cosine", "",
                   "<g_hat, g> / (|g_hat| |g|); with receiver noise E<g_hat, g> / "
                   "sqrt(E|g_hat|^2 |g|^2)",
                   &G::cosine),
      value_column("contraction", "", "<g_hat, g> / |g|^2", &G::contraction),
      value_column("bias_lsb", "LSB",
                   "mean of decoded value minus exact mean over elements with non-zero scale",
                   &G::bias_lsb),
      rate_column("sign_agreement",
                  "share of elements with non-zero mean whose sign survives; a decoded zero "
                  "disagrees",
                  &G::sign_agreement),
      rate_column("decoded_zero_share", "share of those elements that decode to zero",
                  &G::decoded_zero_share),
      value_column("max_error_lsb", "LSB",
                   "largest difference to the exact mean; with receiver noise over the integers "
                   "that are likeliest, or expected at least half a time, among the elements of a "
                   "code",
                   &G::max_error_lsb)};
  for (std::size_t power = 0; power < GradientMetrics{}.error_share_pm4.size(); ++power) {
    table.push_back(error_share_column(power));
  }
  table.push_back(rate_column("error_share_other",
                              "share of elements with any other non-zero integer error",
                              &G::error_share_other));
  return table;
}

MetricColumn chip_column(const char* name, const char* unit, const char* meaning,
                         std::function<double(const ChipResult&)> value) {
  return {{name, unit, meaning}, MetricKind::value, std::move(value)};
}

void add_sampling_columns(std::vector<MetricColumn>& table) {
  table.push_back(chip_column(
      "element_error_rate_sample_lo", "",
      "lower end of the 95 % interval of element_error_rate over all elements, from the sample; "
      "the rate itself unless evaluation is sampled",
      [](const ChipResult& result) { return result.sampling.element_error_rate.lo; }));
  table.push_back(
      chip_column("element_error_rate_sample_hi", "", "upper end of it",
                  [](const ChipResult& result) { return result.sampling.element_error_rate.hi; }));
  table.push_back(chip_column("nmse_sample_lo", "", "likewise of nmse",
                              [](const ChipResult& result) { return result.sampling.nmse.lo; }));
  table.push_back(chip_column("nmse_sample_hi", "", "upper end of it",
                              [](const ChipResult& result) { return result.sampling.nmse.hi; }));
}

MetricColumn mesh_column(const char* name, const char* unit, const char* meaning,
                         double MeshQuality::*member) {
  return chip_column(name, unit, meaning,
                     [member](const ChipResult& result) { return result.meshes.*member; });
}

std::vector<MetricColumn> make_metric_table() {
  using M = MeshQuality;
  std::vector<MetricColumn> table;
  for (const GradientColumn& metric : gradient_table()) {
    table.push_back({metric.column, metric.kind, [value = metric.value](const ChipResult& result) {
                       return value(result.gradient);
                     }});
  }
  add_sampling_columns(table);
  table.push_back(
      {{"uniform_element_error_rate", "",
        "share of wrong integers over all codes of the alphabet, each counting alike; empty "
        "unless report.uniform_codes"},
       MetricKind::rate,
       [](const ChipResult& result) { return result.uniform_element_error_rate; }});
  table.push_back(mesh_column("matrix_error", "",
                              "E = ||U' - U||_F / sqrt(N) over the direct sum of all meshes",
                              &M::matrix_error));
  table.push_back(mesh_column(
      "fidelity", "", "|Tr(U^H U')|^2 / N^2 over the direct sum of all meshes", &M::fidelity));
  table.push_back(mesh_column("fidelity_normalised", "",
                              "|Tr(U^H U')|^2 / (N Tr(U'^H U')), blind to uniform loss",
                              &M::fidelity_normalised));
  table.push_back(mesh_column("insertion_loss_db", "dB",
                              "-10 log10 of the mean power that the meshes transmit",
                              &M::insertion_loss_db));
  return table;
}

}  // namespace

const std::vector<GradientColumn>& gradient_table() {
  static const std::vector<GradientColumn> table = make_gradient_table();
  return table;
}

const std::vector<MetricColumn>& metric_table() {
  static const std::vector<MetricColumn> table = make_metric_table();
  return table;
}

std::vector<double> metric_values(const ChipResult& result) {
  std::vector<double> values;
  for (const MetricColumn& metric : metric_table()) values.push_back(metric.value(result));
  return values;
}

std::vector<double> metric_values(const GradientMetrics& metrics) {
  std::vector<double> values;
  for (const GradientColumn& metric : gradient_table()) values.push_back(metric.value(metrics));
  return values;
}

const std::vector<CsvColumn>& identity_columns() {
  static const std::vector<CsvColumn> columns = {
      {"task_id", "", "16 hex digits naming everything that determines the row but seed and chip"},
      {"chip", "", "index of the realization, from 0"},
      {"seed", "", "seed of all random numbers"},
      {"backend", "", "engine that ran, with its instruction set"},
      {"precision", "", "f32 or f64"},
      {"version", "", "version of optinc"}};
  return columns;
}

const std::vector<CsvColumn>& metric_columns() {
  static const std::vector<CsvColumn> columns = [] {
    std::vector<CsvColumn> list;
    for (const MetricColumn& metric : metric_table()) list.push_back(metric.column);
    return list;
  }();
  return columns;
}

const std::vector<CsvColumn>& tensor_columns() {
  static const std::vector<CsvColumn> columns = [] {
    std::vector<CsvColumn> list = {
        {"tensor", "", "name of the tensor, in the order of the trace"},
        {"elements", "", "its elements per server; with evaluation sampled those in the sample"}};
    for (const GradientColumn& metric : gradient_table()) list.push_back(metric.column);
    return list;
  }();
  return columns;
}

const std::vector<CsvColumn>& summary_columns() {
  static const std::vector<CsvColumn> columns = {
      {"chips", "", "chips that the row summarises"},
      {"yield", "", "share of chips whose element_error_rate is below report.yield_limit"},
      {"yield_ci_lo", "", "lower end of its 95 % Clopper-Pearson interval"},
      {"yield_ci_hi", "", "upper end of it"},
      {"METRIC_mean", "", "mean over the chips where the metric is finite"},
      {"METRIC_std", "", "sample standard deviation over them; empty for fewer than 2"},
      {"METRIC_ci_lo", "",
       "lower end of the 95 % interval of the mean: for rates that of Korn and Graubard with the "
       "chips as clusters, else Student t"},
      {"METRIC_ci_hi", "", "upper end of it"},
      {"METRIC_p05", "", "5 % quantile over the chips, linear between order statistics"},
      {"METRIC_p50", "", "median"},
      {"METRIC_p95", "", "95 % quantile"}};
  return columns;
}

}  // namespace optinc
