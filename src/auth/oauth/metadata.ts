/**
 * Owns the discovery documents: RFC 8414 for the authorization server, RFC 9728 for the protected
 * resource. They depend on the public URL alone, so nothing has to be loaded for them.
 */
import { allScopes } from './scopes.ts';

/** The issuer, byte for byte as it stands in `iss` and in the metadata. */
export function issuerOf(publicUrl: string): string {
  return `${publicUrl}/api/auth`;
}

/** The MCP endpoint as a resource (RFC 8707). A token for it is good for nothing else. */
export function mcpResource(publicUrl: string): string {
  return `${publicUrl}/api/mcp`;
}

export function serverMetadata(publicUrl: string): Record<string, unknown> {
  const issuer = issuerOf(publicUrl);
  const at = (name: string): string => `${issuer}/oauth2/${name}`;
  const secretMethods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'];
  const methods = ['none', ...secretMethods];
  const algorithms = ['EdDSA', 'ES256', 'PS256', 'RS256'];
  return {
    issuer,
    authorization_endpoint: at('authorize'),
    token_endpoint: at('token'),
    registration_endpoint: at('register'),
    userinfo_endpoint: at('userinfo'),
    revocation_endpoint: at('revoke'),
    introspection_endpoint: at('introspect'),
    scopes_supported: allScopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
    // A client without a secret has nothing to introspect with.
    introspection_endpoint_auth_methods_supported: secretMethods,
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    subject_types_supported: ['public'],
    // ID tokens are for clients with a secret, which signs them. Other clients ask `userinfo`.
    id_token_signing_alg_values_supported: ['HS256'],
    claims_supported: ['sub', 'iss', 'aud', 'exp', 'iat', 'name', 'email', 'email_verified'],
  };
}

export function resourceMetadata(publicUrl: string): Record<string, unknown> {
  return {
    resource: mcpResource(publicUrl),
    authorization_servers: [issuerOf(publicUrl)],
    scopes_supported: allScopes,
    bearer_methods_supported: ['header'],
    resource_name: 'Gangway',
  };
}
