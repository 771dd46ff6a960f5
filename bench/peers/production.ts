/** Imported first by every peer: graphql-js checks types the slow way where this does not say so. */
process.env['NODE_ENV'] = 'production';
