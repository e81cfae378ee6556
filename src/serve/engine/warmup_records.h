/* warmup_records.h - the warm-up requests that TensorFlow Serving has in a SavedModel, in
 * assets.extra/tf_serving_warmup_requests: a TFRecord file of PredictionLog messages.
 *
 *     record:        u64 length, u32 checksum, bytes, u32 checksum        little endian
 *     PredictionLog  { predict_log 6 { request 1: a PredictRequest } }
 *     PredictRequest { model_spec 1 { name 1, signature_name 3 }, inputs 2 … }
 *
 * Checksums are not compared: a message that is damaged is refused when it is read. Pure logic. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* The next record's bytes. 1, 0 at the end, -EINVAL for one that is cut off. */
int warmup_record_next(struct view *file, struct view *ret, struct err *err);
/* The PredictRequest of a record, for the model `name` whatever it says, into `ret` (empty before).
 * 1, or 0 for a request of another kind, which is passed over; -EINVAL for what is no message. */
int warmup_record_request(struct view record, const char *name, struct buf *ret, struct err *err);
