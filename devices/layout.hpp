// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "devices/host_device.hpp"

namespace optinc {

/// A place on the chip: x along the propagation, y across the modes.
struct Position {
  double x_um{};
  double y_um{};
};

/// Where the parts of a mesh lie. The defaults are a dense mesh of our own choosing, not a measured
/// device: two arms 30 um apart, neighbouring MZIs 30 um from arm to arm.
struct MeshLayout {
  double column_pitch_um = 400;  ///< distance of the columns
  double row_pitch_um = 60;      ///< distance of the modes
  double arm_spacing_um = 30;    ///< distance of the two arms of an MZI
  double theta_offset_um = 250;  ///< centre of the internal arms, from the start of the column
  double phi_offset_um = 100;    ///< centre of the input arms and of the output screen
};

/// Centres of the four arms of an MZI.
struct ArmPositions {
  Position input_upper;
  Position input_lower;
  Position internal_upper;
  Position internal_lower;
};

/// Arms of the MZI of `column` on modes (upper_mode, upper_mode + 1): symmetric about the middle
/// between its modes.
OPTINC_HD constexpr ArmPositions arm_positions(const MeshLayout& layout, int column,
                                               int upper_mode) {
  const double start_um = column * layout.column_pitch_um;
  const double middle_um = (upper_mode + 0.5) * layout.row_pitch_um;
  const double upper_um = middle_um - layout.arm_spacing_um / 2;
  const double lower_um = middle_um + layout.arm_spacing_um / 2;
  const double input_um = start_um + layout.phi_offset_um;
  const double internal_um = start_um + layout.theta_offset_um;
  return {
      {input_um, upper_um}, {input_um, lower_um}, {internal_um, upper_um}, {internal_um, lower_um}};
}

/// Output-screen arm of a mode: one column pitch after the last of `columns` columns began.
OPTINC_HD constexpr Position screen_position(const MeshLayout& layout, int columns, int mode) {
  return {columns * layout.column_pitch_um + layout.phi_offset_um, mode * layout.row_pitch_um};
}

}  // namespace optinc
