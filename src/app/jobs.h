/* The built-in jobs, by name; app_all() lists them. */

#ifndef APP_JOBS_H
#define APP_JOBS_H

#include "app/app.h"

extern const struct app_ops app_lda;
extern const struct app_ops app_lenet;
extern const struct app_ops app_logreg;
extern const struct app_ops app_mf;
extern const struct app_ops app_mlp;
extern const struct app_ops app_synthetic;

#endif
