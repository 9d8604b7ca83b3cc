/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_REPORT_PAGE_H
#define INV_REPORT_PAGE_H

#include "report/report.h"

/* Appends what only the page shows, as members of an object: the timeline, the
 * sequence charts and the profile. */
void inv__report_page_data(struct inv_report *r,
			   const struct inv_report_about *a,
			   struct inv_json *j);

#endif
