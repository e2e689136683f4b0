// SPDX-License-Identifier: Apache-2.0
#include "solver/kernel/mesh_sweep.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace optinc {

namespace {

/// Mesh columns of one skewed sweep.
constexpr std::size_t fused_columns = 8;

/// More samples than any tile has.
constexpr std::uint32_t all_samples = std::uint32_t(1) << 30;

struct SampleRange {
  std::uint32_t first{};
  std::uint32_t end{};
};

/// A mesh column and where its transfers start.
struct PlacedColumn {
  MeshColumn column;
  std::size_t first_flat_index{};
};

std::vector<PlacedColumn> place_columns(const CompiledMesh& mesh) {
  std::vector<PlacedColumn> placed;
  placed.reserve(mesh.columns.size());
  const std::vector<std::size_t> starts = column_starts(mesh.columns);
  for (std::size_t i = 0; i < starts.size(); ++i) placed.push_back({mesh.columns[i], starts[i]});
  return placed;
}

/// Collects sites and follows which samples of each row may be non-zero.
class SiteCollector {
 public:
  SiteCollector(std::vector<SampleRange> ranges, std::size_t count) : ranges_(std::move(ranges)) {
    sites_.reserve(count);
  }

  /// Adds the element of `placed` whose upper mode is `mode`, if there is one.
  void add_element_at(const PlacedColumn& placed, int mode) {
    if (!placed.column.joins(mode)) return;
    const auto upper = static_cast<std::size_t>(mode);
    const SampleRange range{std::min(ranges_[upper].first, ranges_[upper + 1].first),
                            std::max(ranges_[upper].end, ranges_[upper + 1].end)};
    ranges_[upper] = ranges_[upper + 1] = range;
    sites_.push_back({placed.first_flat_index + placed.column.index_of(mode),
                      static_cast<std::uint32_t>(mode), range.first, range.end});
  }

  std::vector<SweepSite> take() { return std::move(sites_); }

 private:
  std::vector<SampleRange> ranges_;  ///< per mode
  std::vector<SweepSite> sites_;
};

/// Takes the columns diagonal by diagonal: column k at mode `diagonal - k`. Whatever an element
/// needs from an earlier column lies on an earlier diagonal or before it on its own.
void collect_fused(std::span<const PlacedColumn> columns, int modes, SiteCollector& collector) {
  const auto count = static_cast<int>(columns.size());
  for (int diagonal = 0; diagonal < modes + count; ++diagonal) {
    for (int k = 0; k < count; ++k) {
      collector.add_element_at(columns[static_cast<std::size_t>(k)], diagonal - k);
    }
  }
}

std::vector<SweepSite> collect_sites(const CompiledMesh& mesh, std::vector<SampleRange> ranges) {
  const std::vector<PlacedColumn> placed = place_columns(mesh);
  const std::span<const PlacedColumn> columns(placed);
  SiteCollector collector(std::move(ranges), mesh.transfers.size());
  for (std::size_t first = 0; first < columns.size(); first += fused_columns) {
    collect_fused(columns.subspan(first, std::min(fused_columns, columns.size() - first)),
                  mesh.modes, collector);
  }
  return collector.take();
}

template <class Real>
Complex<Real> rounded(Complex<double> value) {
  return {static_cast<Real>(value.re), static_cast<Real>(value.im)};
}

template <class Real>
Transfer2x2<Real> rounded(const Transfer2x2<double>& transfer) {
  return {rounded<Real>(transfer.m11), rounded<Real>(transfer.m12), rounded<Real>(transfer.m21),
          rounded<Real>(transfer.m22)};
}

}  // namespace

std::vector<SweepSite> propagation_sites(const CompiledMesh& mesh) {
  return collect_sites(mesh, std::vector<SampleRange>(static_cast<std::size_t>(mesh.modes),
                                                      SampleRange{0, all_samples}));
}

std::vector<SweepSite> composition_sites(const CompiledMesh& mesh) {
  std::vector<SampleRange> diagonal(static_cast<std::size_t>(mesh.modes));
  for (std::uint32_t mode = 0; mode < diagonal.size(); ++mode) diagonal[mode] = {mode, mode + 1};
  return collect_sites(mesh, std::move(diagonal));
}

template <class Real>
std::vector<SweepStep<Real>> sweep_steps(const CompiledMesh& mesh,
                                         const std::vector<SweepSite>& sites) {
  constexpr std::uint32_t line = samples_per_line<Real>;
  std::vector<SweepStep<Real>> steps;
  steps.reserve(sites.size());
  for (const SweepSite& site : sites) {
    steps.push_back({rounded<Real>(mesh.transfers[site.flat_index]), site.upper_mode,
                     site.first_sample / line * line, (site.end_sample + line - 1) / line * line});
  }
  return steps;
}

template std::vector<SweepStep<float>> sweep_steps(const CompiledMesh&,
                                                   const std::vector<SweepSite>&);
template std::vector<SweepStep<double>> sweep_steps(const CompiledMesh&,
                                                    const std::vector<SweepSite>&);

}  // namespace optinc
