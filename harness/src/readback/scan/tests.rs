//! Tests of the whole-store scan and of its calibration.
