// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace optinc {

/// Share of a heater's phase that appears on another arm, as a function of their distance.
struct ThermalCrosstalk {
  enum class Model { exponential, table };

  /// One line of a table.
  struct Entry {
    double distance_um{};
    double coupling{};
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  Model model{};
  double coefficient = 0.2167;    ///< exponential: coupling extrapolated to distance 0
  double decay_um = 7.845;        ///< exponential: decay length
  double radius_um = 60;          ///< no coupling beyond
  std::vector<Entry> table = {};  ///< by ascending distance; linear between, constant before the
                                  ///< first, none beyond the last entry

  /// Coupling at a distance. Exponential: coefficient exp(-d / decay), the far branch of the fit in
  /// arXiv 2407.05510; its polynomial near branch is for a table: it diverges when extrapolated.
  double coupling(double distance_um) const;

  /// Distance from which on nothing couples.
  double reach_um() const;
};

}  // namespace optinc
